import { expect, test } from 'vitest';
import type { AgentClient } from '#conductor/agents/agent-client.ts';
import { finalizeRescue } from '#conductor/flows/conductor-steps/finalize-rescue.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The agent stops serving with its answer: what becomes of the step when that answer is lost. */

const minute = 60_000;
const gone: AgentClient['post'] = () => Promise.reject(new AppError('unavailable', 'connect: refused'));

/** At minute 10; agents beat at least every 3 minutes. */
function finalize(facts: {
  readonly post?: AgentClient['post'];
  readonly isRepeated?: boolean;
  readonly firstTryAt?: number;
  readonly heardAt?: number;
  readonly power?: string;
}) {
  const { post = gone, isRepeated = true, firstTryAt = 6, heardAt = 1, power = 'power on' } = facts;
  return finalizeRescue.run({
    agent: () => ({ post }),
    node: { instanceInfo: { hashed_rescue_password: '$6$x' } },
    isRepeated,
    step: { retryUntil: isRepeated ? new Date((firstTryAt + 5) * minute) : null },
    session: { lastHeartbeatAt: new Date(heardAt * minute) },
    clock: { now: () => new Date(10 * minute) },
    config: { retryTimeoutMs: 5 * minute, heartbeatTimeout: 300 },
    bmc: () => ({ power: { getPowerState: () => Promise.resolve(power) } }),
    signal: new AbortController().signal,
  } as unknown as StepContext);
}

test('an agent that has stopped serving and beating is the rescuer’s: the answer was lost', async () => {
  expect(await finalize({})).toMatchObject({
    kind: 'done',
    output: expect.stringContaining('answer was lost') as unknown,
  });
});

test.each([
  ['that is asked for the first time', { isRepeated: false }],
  ['that has beaten lately', { heardAt: 7 }],
  ['that this conductor has not listened to for long enough', { firstTryAt: 9 }],
  ['whose machine is off', { power: 'power off' }],
])('an agent %s is asked again', async (_, facts) => {
  await expect(finalize(facts)).rejects.toMatchObject({ code: 'unavailable' });
});

test('an agent that refuses has failed, silent or not', async () => {
  const post = () => Promise.reject(new AppError('agent_error', 'it answered 500'));
  await expect(finalize({ post })).rejects.toThrow('it answered 500');
});
