import type { ApiClient } from '#agent/api/api-client.ts';
import { faultText } from '#agent/api/fault-text.ts';
import { microversions } from '#agent/api/microversion.ts';
import type { FoundNode } from '#agent/lookup.ts';
import { agentVersion } from '#agent/version.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Random, uniform } from '#shared/retry.ts';
import type { Heartbeat } from '#shared/wire/agent-calls.ts';

/**
 * Sends one heartbeat (agent-protocol.md §2.3). Fields that the API's version doesn't know are left out.
 * @throws AppError `conflict` (409), `unauthorized` (the token is refused for good), `agent_error` (any other answer
 * than 202), `unavailable`.
 */
export async function sendHeartbeat(
  api: ApiClient,
  node: FoundNode,
  announced: { readonly callbackUrl: string; readonly certificatePem: string | undefined },
): Promise<void> {
  const version = Math.min(node.apiVersion, microversions.heartbeat);
  const body: Heartbeat = {
    callback_url: announced.callbackUrl,
    ...(version >= microversions.agentVersion ? { agent_version: agentVersion } : {}),
    ...(version >= microversions.agentToken && node.token !== undefined ? { agent_token: node.token } : {}),
    ...(version >= microversions.agentVerifyCa && announced.certificatePem !== undefined
      ? { agent_verify_ca: announced.certificatePem }
      : {}),
  };
  const answer = await api.request({ method: 'POST', path: `/v1/heartbeat/${node.uuid}`, version, body });
  if (answer.status === 202) return;
  const fault = faultText(answer);
  const code =
    answer.status === 409
      ? 'conflict'
      : answer.status === 401 || (answer.status === 400 && /agent.?token/i.test(fault))
        ? 'unauthorized'
        : 'agent_error';
  throw new AppError(code, `the conductor refused the heartbeat of node ${node.uuid}: ${fault}`);
}

export interface HeartbeatLoop {
  /** A command ended: beat soon, so that the conductor asks for the result. Never lost, however late it comes. */
  nudge(): void;
  /** Ends when the signal aborts. */
  run(): Promise<void>;
}

/** Ironic's agent never beats twice within this time, even when a command ends. */
const minGapMs = 5000;

/**
 * The rhythm of agent-protocol.md §2.4: at once, then every 0.3 to 0.6 of the time-out, 5 to 10 s after an error, and
 * early after a nudge: at once where `isEager()` (Baton's conductor), else not sooner than 5 s after the beat before.
 * Beats never overlap; `beat` reports its own errors, and returns whether it was accepted.
 */
export function createHeartbeatLoop(options: {
  readonly beat: () => Promise<boolean>;
  readonly timeoutMs: () => number;
  readonly isEager: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}): HeartbeatLoop {
  const { clock, random, signal } = options;
  const state = { nudged: false, wake: new AbortController() };

  /** @returns false when a nudge cut it short */
  const sleepUnlessNudged = async (ms: number): Promise<boolean> => {
    state.wake = new AbortController();
    if (state.nudged) return false;
    const wake = state.wake.signal;
    try {
      await clock.sleep(ms, AbortSignal.any([signal, wake]));
      return true;
    } catch (error) {
      if (signal.aborted || !wake.aborted) throw error;
      return false;
    }
  };

  return {
    nudge: () => {
      state.nudged = true;
      state.wake.abort();
    },
    run: async () => {
      while (!signal.aborted) {
        // cleared before the beat: a command that ends during it may be one that the beat came too early for
        state.nudged = false;
        const beatAt = clock.now().getTime();
        const isAccepted = await options.beat();
        const waitMs = isAccepted ? options.timeoutMs() * uniform(random, 0.3, 0.6) : uniform(random, 5000, 10_000);
        try {
          const isDue = await sleepUnlessNudged(waitMs);
          if (!isDue && !options.isEager()) {
            await clock.sleep(Math.max(0, beatAt + minGapMs - clock.now().getTime()), signal);
          }
        } catch (error) {
          if (!signal.aborted) throw error;
        }
      }
    },
  };
}
