import { callAgent } from '#conductor/agents/ask-agent.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

export const finalizeRescue: ConductorStep = {
  interface: 'deploy',
  step: 'finalize_rescue',
  description: 'Has the agent set the rescue password and stop serving.',
  run: async (context) => {
    const hash = openNodeDocument(context.secrets, context.node, 'instanceInfo')['hashed_rescue_password'];
    if (typeof hash !== 'string') throw new AppError('invalid_argument', 'instance_info has no rescue password');
    try {
      const params = { rescue_password: hash, hashed: true };
      await callAgent(context.agent(), 'finish the rescue', 'rescue.finalize_rescue', params);
    } catch (error) {
      if (errorCode(error) !== 'unavailable' || !(await hasStoodAside(context))) throw error;
      return { kind: 'done', output: 'the answer was lost; the agent has stopped serving and beating since' };
    }
    return { kind: 'done' };
  },
};

/** Agents beat at the latest after 0.6 of the heartbeat timeout; this leaves room for a slow beat. */
const silenceOfTimeout = 0.8;

/**
 * An agent that has set the password never answers again, so a lost answer can't be asked for. What distinguishes it from one
 * that can't be reached for a moment: it has stopped beating, as seen from the first vain try on (before, this conductor
 * may have been down), and its machine is still on.
 */
async function hasStoodAside({ isRepeated, step, session, config, clock, bmc, signal }: StepContext): Promise<boolean> {
  if (!isRepeated || !step.retryUntil) return false;
  const firstTry = step.retryUntil.getTime() - config.retryTimeoutMs;
  const heardAt = Math.max(firstTry, session?.lastHeartbeatAt?.getTime() ?? 0);
  if (clock.now().getTime() - heardAt < silenceOfTimeout * config.heartbeatTimeout * 1000) return false;
  return (await bmc().power.getPowerState({ signal })) === 'power on';
}
