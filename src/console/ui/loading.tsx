import styles from './ui.module.css';

/** @param what such as "the deployments" */
export const Loading = ({ what }: { readonly what: string }) => (
  <p role="status" className={styles['quiet']}>
    Loading {what} …
  </p>
);
