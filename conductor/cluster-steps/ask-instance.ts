import type { InstanceAnswer } from '#conductor/model/flows/flow-states.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';
import { askPeerForStatus } from '#shared/peers/ask-peer.ts';
import { openConnection, splitHostPort } from '#shared/peers/open-connection.ts';
import {
  checkOutboundAddress,
  checkOutboundUrl,
  type OutboundRules,
  outboundAgent,
  outboundLookup,
  resolveOutbound,
} from '#shared/peers/outbound-url.ts';
import { run } from '#shared/process/run.ts';

/** Means that instances are asked with: they lead no further than the rules let them. */
interface InstanceMeans {
  readonly rules: OutboundRules;
  readonly signal: AbortSignal;
}

const limitMs = 5_000;

/**
 * Asks an instance as its documents say.
 * @returns one line for each that does not answer, or that the rules do not let be asked
 */
export async function whySilent(answers: readonly InstanceAnswer[], means: InstanceMeans): Promise<string[]> {
  const silent = await inParallel(
    answers,
    async (answer) => {
      const why = await askInstance(answer, means);
      return why === undefined ? [] : [`${answer.by} ${answer.target}: ${why}`];
    },
    { atOnce: 4 },
  );
  return silent.flat();
}

/** @returns why there is no answer; `undefined` = there is */
async function askInstance(
  { by, target }: InstanceAnswer,
  { rules, signal }: InstanceMeans,
): Promise<string | undefined> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  try {
    if (by === 'http') return await askOverHttp(target, { rules, signal: limit });
    if (by === 'tcp') {
      checkOutboundAddress(splitHostPort(target).host, rules);
      await openConnection(target, limit, outboundLookup(rules));
    } else {
      const address = await resolveOutbound(target, rules);
      await run('ping', ['-n', '-c', '1', '-W', '2', address], { timeoutMs: limitMs, signal });
    }
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    return limit.aborted ? `no answer within ${limitMs / 1000} s` : errorChain(error);
  }
}

async function askOverHttp(target: string, { rules, signal }: InstanceMeans): Promise<string | undefined> {
  const url = checkOutboundUrl('in_service', target, rules);
  const dispatcher = outboundAgent(rules);
  try {
    const status = await askPeerForStatus('instance', url, { who: 'the instance', method: 'GET', dispatcher, signal });
    return status < 400 ? undefined : `HTTP ${status}`;
  } finally {
    await dispatcher.destroy();
  }
}
