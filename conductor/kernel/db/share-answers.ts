import { setTimeout } from 'node:timers/promises';
import { type Answered, type Mark, Memory } from '#conductor/kernel/db/answered.ts';
import type { Log } from '#shared/log.ts';

/** Channel on which conductors on one database say what each was answered. */
export const answersChannel = 'answered';

/** Answers come together: each notification is a commit of its own. */
const everyMs = 100;
/** PostgreSQL takes less than 8,000 bytes of a notification; a mark has 57 at most. */
const mostMarks = 100;

/** Passes on what this conductor was answered, and remembers what others were: those who were answered may not live to tell. */
export interface AnswerSharing {
  /** Passes a mark on, some tenths of a second later. */
  add(mark: Mark): void;
  /** Remembers what another has passed on; what belongs to another server or timeline is of no use. */
  hear(payload: string): void;
  close(): Promise<void>;
}

/** @param notify sends a payload to all that listen, this conductor among them */
export function shareAnswers(
  answered: Answered,
  { notify, log }: { readonly notify: (payload: string) => Promise<void>; readonly log: Log },
): AnswerSharing {
  const due = new Set<string>();
  const closing = new AbortController();
  const state: { sending: Promise<void> | undefined } = { sending: undefined };
  const send = async (): Promise<void> => {
    const memory = answered.memory();
    const marks = memory?.marks.filter(({ xid }) => due.has(xid)).slice(-mostMarks) ?? [];
    due.clear();
    if (marks.length === 0) return;
    await notify(JSON.stringify({ ...memory, marks })).catch((error: unknown) => {
      log.debug({ err: error }, 'passing on answers failed; it is tried again');
      for (const { xid } of marks) due.add(xid);
    });
  };
  const sendAll = async (): Promise<void> => {
    while (due.size > 0 && !closing.signal.aborted) {
      await setTimeout(everyMs, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
      await send();
    }
    state.sending = undefined;
  };
  return {
    add: ({ xid }) => {
      due.add(xid);
      state.sending ??= sendAll();
    },
    hear: (payload) => {
      const heard = readMemory(payload);
      if (!heard) return log.warn({ payload }, 'another conductor passes on answers in a form that is not known');
      const known = answered.memory();
      if (known?.system !== heard.system || known.timeline !== heard.timeline) return;
      for (const mark of heard.marks) answered.add(mark);
    },
    close: async () => {
      closing.abort();
      await state.sending;
    },
  };
}

function readMemory(payload: string): Memory | undefined {
  try {
    return Memory.parse(JSON.parse(payload));
  } catch {
    // the caller says so
    return undefined;
  }
}
