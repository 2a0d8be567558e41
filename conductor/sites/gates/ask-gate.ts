import type { GateQuestion } from '#conductor/model/site/health-gate.ts';
import { askPrometheus } from '#conductor/sites/gates/ask-prometheus.ts';
import type { GateMeans } from '#conductor/sites/gates/gate-means.ts';
import type { GateAnswer } from '#conductor/sites/strategy/rollout/judge-gates.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { askPeerForStatus } from '#shared/peers/ask-peer.ts';
import { openConnection, splitHostPort } from '#shared/peers/open-connection.ts';
import { checkOutboundAddress, checkOutboundUrl, outboundLookup } from '#shared/peers/outbound-url.ts';
import { peerLimits } from '#shared/peers/peer-limits.ts';

/** Longest part of an answer that is kept for people. */
const longestSaid = 300;

/**
 * Asks a health gate once, within five seconds. Without an answer, or with one that is not understood, it is not good.
 * @throws only the signal's reason, when that aborts
 */
export async function askGate(
  question: GateQuestion,
  { rules, agent, signal, limitMs = peerLimits.instance.timeoutMs }: GateMeans,
): Promise<GateAnswer> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  try {
    const { isGood, said } = await askOnce(question, { rules, agent, signal: limit });
    return { isGood, said: said.slice(0, longestSaid) };
  } catch (error) {
    signal.throwIfAborted();
    const why = limit.aborted ? `no answer within ${limitMs / 1000} s` : errorChain(error);
    return { isGood: false, said: why.slice(0, longestSaid) };
  }
}

async function askOnce(question: GateQuestion, means: GateMeans): Promise<GateAnswer> {
  const { http, tcp, prometheus } = question;
  const { rules, agent, signal } = means;
  if (http !== undefined) {
    const url = checkOutboundUrl('http', http, rules);
    const status = await askPeerForStatus('instance', url, { who: 'it', method: 'GET', dispatcher: agent, signal });
    return { isGood: status >= 200 && status < 300, said: `HTTP ${status}` };
  }
  if (tcp !== undefined) {
    checkOutboundAddress(splitHostPort(tcp).host, rules);
    await openConnection(tcp, signal, outboundLookup(rules));
    return { isGood: true, said: 'connected' };
  }
  if (prometheus !== undefined) return askPrometheus(question, means);
  throw new AppError('not_supported', 'this release does not know what the gate asks');
}
