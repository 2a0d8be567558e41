import { z } from 'zod';
import { saveAgentLogs } from '#conductor/agents/agent-session-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

const Logs = z.looseObject({ system_logs: z.string() });
/** Who has failed may fail at this too: the machine is to be made safe soon. */
const timeoutMs = 20_000;

async function run(context: StepContext): Promise<ConductorStepOutcome> {
  if (!context.session?.callbackUrl) return { kind: 'done', output: { collected: false, reason: 'no agent runs' } };
  try {
    const bytes = await collect(context);
    await context.record((tx) =>
      saveAgentLogs(tx, { nodeUuid: context.node.uuid, flowUuid: context.flow.uuid, content: bytes }),
    );
    return { kind: 'done', output: { collected: true, bytes: bytes.length } };
  } catch (error) {
    // the failure that matters is the one before; that the logs are missing is told beside it
    if (context.signal.aborted || !(error instanceof AppError) || error.code === 'lease_lost') throw error;
    context.log.warn({ err: error }, 'agent logs not collected');
    return { kind: 'done', output: { collected: false, reason: errorChain(error) } };
  }
}

async function collect(context: StepContext): Promise<Buffer> {
  const result = await context.agent().post({ name: 'log.collect_system_logs', params: {} }, { wait: true, timeoutMs });
  const logs = Logs.safeParse(result.command_result);
  if (!logs.success) {
    throw new AppError('agent_error', `collect its logs: ${result.command_error?.details ?? 'its answer has none'}`);
  }
  const text = logs.data.system_logs;
  const bytes = Buffer.from(text, 'base64');
  // what is no base64 is skipped; a pattern would take part of a second for tens of MiB
  if (bytes.length !== Buffer.byteLength(text, 'base64'))
    throw new AppError('agent_error', 'collect its logs: they are no base64');
  return bytes;
}

export const collectLogs: ConductorStep = {
  interface: 'deploy',
  step: 'collect_logs',
  description: "Keeps the agent's logs (`baton logs NODE`), if it answers.",
  run,
};
