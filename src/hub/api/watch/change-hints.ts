/** Passes notifications of changes to the streams of this process. hub/store/core/notifications.ts provides them. */
export interface ChangeHints {
  /** Called with payloads of CHANGE_CHANNEL. */
  notify(payloads: Iterable<string>): void;
  /** Called when notifications may have been lost. */
  lost(): void;
  /** Sets the receiver, of which there is one. */
  connect(receiver: Pick<ChangeHints, 'notify' | 'lost'>): void;
}

export function createChangeHints(): ChangeHints {
  let connected: Pick<ChangeHints, 'notify' | 'lost'> | null = null;
  return {
    notify: (payloads) => connected?.notify(payloads),
    lost: () => connected?.lost(),
    connect(receiver) {
      connected = receiver;
    },
  };
}
