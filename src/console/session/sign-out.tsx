import { useMutation } from '@tanstack/react-query';
import { platformApi, read } from '../api/client.ts';
import { consolePath } from '../app/addresses.ts';
import { announceSession } from './session-channel.ts';

/** Signs out, and starts the console again without anything of the former session in memory. */
export function useSignOut() {
  return useMutation({
    mutationFn: (everywhere: boolean) =>
      read(platformApi.POST('/v2/auth/sign-out', { body: { everywhere } })),
    onSuccess: () => {
      announceSession();
      window.location.assign(`${consolePath}/`);
    },
  });
}
