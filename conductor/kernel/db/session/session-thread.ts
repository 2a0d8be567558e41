import { parentPort, workerData } from 'node:worker_threads';
import {
  serveSession,
  type ToSession,
  type WatchedSessionOptions,
} from '#conductor/kernel/db/session/watched-session.ts';

/** The thread of `session-locks.ts`. */

if (!parentPort) throw new Error('session-thread.ts is the program of a thread');
const port = parentPort;
const handle = serveSession(workerData as WatchedSessionOptions, (message) => {
  port.postMessage(message);
  if ('ended' in message) port.close();
});
port.on('message', (message: ToSession) => handle(message));
