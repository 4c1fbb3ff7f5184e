import { ThemeChoice } from '../shell/theme-choice.tsx';
import styles from './session.module.css';
import { SignInForm } from './sign-in-form.tsx';

/** Asks for a sign-in. The URL stays, so that its page appears afterwards. */
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
