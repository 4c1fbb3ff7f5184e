import { ThemeChoice } from '../shell/theme-choice.tsx';
import styles from './session.module.css';
import { SignInForm } from './sign-in-form.tsx';

/** Shown in place of every page to someone who is not signed in. The URL stays, so that the page appears afterwards. */
export function SignInPage() {
  return (
    <main className={styles.page}>
      <title>Sign in – Berth</title>
      <h1>Sign in to Berth</h1>
      <SignInForm />
      <ThemeChoice />
    </main>
  );
}
