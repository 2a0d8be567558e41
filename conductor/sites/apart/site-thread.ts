/* oxlint-disable unicorn/require-post-message-target-origin -- a thread's messages, not a window's */
import { parentPort } from 'node:worker_threads';
import { doSiteWork, type SiteAnswer, type SiteOrder } from '#conductor/sites/apart/site-works.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

/** The thread of `read-apart.ts`. */

if (!parentPort) throw new Error('site-thread.ts is the program of a thread');
const port = parentPort;
port.on('message', (order: SiteOrder) => port.postMessage(answer(order)));

function answer(order: SiteOrder): SiteAnswer {
  try {
    return { made: doSiteWork(order) };
  } catch (error) {
    return { error: { code: errorCode(error), text: errorChain(error) } };
  }
}
