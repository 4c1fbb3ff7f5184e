import { Dialog } from '../ui/dialog.tsx';
import { SignInForm } from './sign-in-form.tsx';

/** Asks someone whose session has ended to sign in again, above the page. */
export function SignInAgain({ name }: { readonly name: string }) {
  return (
    <Dialog title="Your session has ended" isOpen>
      <p>
        You were signed in as {name}. Sign in again to continue. The page behind this dialog stays as it is,
        and shows what was last known.
      </p>
      <SignInForm inNewTab />
    </Dialog>
  );
}
