/* oxlint-disable unicorn/require-post-message-target-origin -- a thread's messages, not a window's */
import { parentPort } from 'node:worker_threads';
import { type RehearsalOrder, type Rehearsed, rehearse } from '#conductor/sites/rehearsal/engine/rehearse.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/** The thread of `rehearse-apart.ts`: it knows its order and the engine, and has neither database nor network. */

export type RehearsalAnswer = { readonly made: Rehearsed } | { readonly error: string };

if (!parentPort) throw new Error('rehearsal-thread.ts is the program of a thread');
const port = parentPort;
port.on('message', (order: RehearsalOrder) => port.postMessage(answer(order)));

function answer(order: RehearsalOrder): RehearsalAnswer {
  try {
    return { made: rehearse(order) };
  } catch (error) {
    return { error: errorChain(error) };
  }
}
