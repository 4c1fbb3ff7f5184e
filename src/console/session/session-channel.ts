import { consolePath } from '../app/addresses.ts';

/** Tells the other tabs of this browser that someone signed in or out. */

const NAME = `berth-session:${consolePath}`;

export function announceSession(): void {
  const channel = new BroadcastChannel(NAME);
  channel.postMessage('changed');
  channel.close();
}

/** Calls back when another tab signed in or out. Returns a function that stops this. */
export function onSessionChange(changed: () => void): () => void {
  const channel = new BroadcastChannel(NAME);
  channel.onmessage = changed;
  return () => channel.close();
}
