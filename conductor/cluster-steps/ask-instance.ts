import { connect } from 'node:net';
import type { InstanceAnswer } from '#conductor/model/instance-answer.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { askPeerForStatus } from '#shared/peers/ask-peer.ts';
import { run } from '#shared/process/run.ts';

const limitMs = 5_000;

/** Asks an instance as its documents say. @returns why there is no answer; `undefined` = there is */
export async function askInstance({ by, target }: InstanceAnswer, signal: AbortSignal): Promise<string | undefined> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  try {
    if (by === 'ping') await run('ping', ['-n', '-c', '1', '-W', '2', target], { timeoutMs: limitMs });
    else if (by === 'tcp') await openConnection(target, limit);
    else return await askOverHttp(target, limit);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return limit.aborted ? `no answer within ${limitMs / 1000} s` : errorChain(error);
  }
}

async function askOverHttp(url: string, signal: AbortSignal): Promise<string | undefined> {
  const status = await askPeerForStatus('instance', url, { who: 'the instance', method: 'GET', signal });
  return status < 400 ? undefined : `HTTP ${status}`;
}

/** @param target `HOST:PORT` */
function openConnection(target: string, signal: AbortSignal): Promise<void> {
  const colon = target.lastIndexOf(':');
  const host = target.slice(0, colon).replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(target.slice(colon + 1)), signal });
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
  });
}
