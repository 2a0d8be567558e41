import { inArray } from 'drizzle-orm';
import { z } from 'zod';
import { saysItLacks } from '#conductor/agents/agent-client.ts';
import { saveAgentLogs } from '#conductor/agents/agent-session-store.ts';
import { callAgent } from '#conductor/agents/ask-agent.ts';
import { parkMachine, wantsKexec } from '#conductor/flows/conductor-steps/boot-instance.ts';
import { switchPower } from '#conductor/flows/conductor-steps/power.ts';
import { checkCables } from '#conductor/flows/conductor-steps/watch-cables.ts';
import { stepsOf } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { switchPorts } from '#conductor/kernel/db/schema/port.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { isFastTracked } from '#conductor/nodes/boot/ramdisk-boot.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { CommandResult } from '#shared/wire/agent-calls.ts';

/** Kinds that may leave the ramdisk running for the next flow: the node has no instance. */
const leavesRamdisk: readonly FlowKindName[] = ['inspect', 'clean', 'manual_clean'];

/** Checks for the fast track: the flow ends with the ramdisk running, on the network where it is. */
export function staysInRamdisk(context: StepContext): boolean {
  return context.step.phase === 'main' && leavesRamdisk.includes(context.flow.kind) && keepsRamdisk(context);
}

/**
 * Checks whether the node keeps its ramdisk for the next flow, which in a site's action follows at once: only a node whose
 * settings forbid it boots again for each.
 */
function keepsRamdisk({ config, node, flow }: Pick<StepContext, 'config' | 'node' | 'flow'>): boolean {
  return isFastTracked({ fastTrack: config.fastTrack || flow.actionId !== null }, node);
}

/**
 * Checks for the fast track: the ramdisk of an earlier flow runs, has called in lately and is on the network that this flow
 * wants, so that nothing has to boot.
 */
export async function ramdiskRuns(context: StepContext): Promise<boolean> {
  const { config, session, clock } = context;
  if (!keepsRamdisk(context) || !session?.callbackUrl || !session.lastHeartbeatAt) return false;
  if (clock.now().getTime() - session.lastHeartbeatAt.getTime() > config.fastTrackTimeoutMs) return false;
  if (!(await isOnNetwork(context))) return false;
  const power = await context.bmc().power.getPowerState({ signal: context.signal });
  if (power !== 'power on') return false;
  try {
    const isUsable = isTraceless(await context.agent().list());
    if (!isUsable) context.log.info('fast track: a flow has failed in that ramdisk, so the machine is booted');
    return isUsable;
  } catch (error) {
    context.log.info({ err: error }, 'fast track: the agent does not answer, so the machine is booted');
    return false;
  }
}

/**
 * Returns whether none of the agent's commands could be taken for one of the flow that comes. Flows that succeed leave no
 * such traces, and those that fail power off; but a BMC may refuse that.
 */
export function isTraceless(commands: readonly CommandResult[]): boolean {
  return commands.every(({ command_name: name, command_status: status }) =>
    name.startsWith('execute_') ? status === 'SUCCEEDED' : name !== 'install_bootloader' && name !== 'prepare_image',
  );
}

async function isOnNetwork(context: StepContext): Promise<boolean> {
  const { networkInterface } = context.node;
  if (networkInterface !== 'switchport' && networkInterface !== 'neutron') return true;
  const { defaults, neutron } = context.networks.networks;
  const purpose = flowKinds[context.flow.kind].ramdiskNetwork;
  const isNeutron = networkInterface === 'neutron';
  const wanted = (isNeutron ? neutron && { ...neutron.networks, tenant: undefined } : defaults)?.[purpose];
  const uuids = (await context.ports()).map((port) => port.uuid);
  const rows = await context.ask(
    context.db.select({ network: switchPorts.network }).from(switchPorts).where(inArray(switchPorts.portUuid, uuids)),
  );
  // by Neutron only ports that boot from the network are there
  const isThere = ({ network }: { network: string | null }): boolean => network === wanted;
  return rows.some(isThere) && rows.every((row) => isThere(row) || (isNeutron && row.network === null));
}

export const tearDownAgent: ConductorStep = {
  interface: 'deploy',
  step: 'tear_down_agent',
  description:
    'Has the agent flush its disks, then powers the machine off; with kexec the agent loads the written system instead.',
  run: (context) => tearDown(context, 'run'),
  resume: (context) => tearDown(context, 'resume'),
};

async function tearDown(context: StepContext, mode: 'run' | 'resume'): Promise<ConductorStepOutcome> {
  if (staysInRamdisk(context)) return { kind: 'done', output: { fast_track: 'the ramdisk runs on' } };
  // run again after a crash, the machine may be off already: there is nothing left to flush then
  const isOn = (await context.bmc().power.getPowerState({ signal: context.signal })) !== 'power off';
  if (!isOn || !context.session?.callbackUrl) return { kind: 'done', record: await switchPower(context, 'power off') };
  if (mode === 'run') await checkCables(context);
  const parked = wantsKexec(context) ? await parkMachine(context, mode) : undefined;
  if (parked && parked.kind !== 'refused') return parked;
  await flushDisks(context);
  const output = parked && { deploy_boot: 'reboot', reason: parked.reason };
  return { kind: 'done', output, record: await switchPower(context, 'power off') };
}

/** @throws AppError as `callAgent`; not for an agent that can't, where nothing of it has written */
async function flushDisks(context: StepContext): Promise<void> {
  try {
    await callAgent(context.agent(), 'flush the disks', 'standby.sync');
  } catch (error) {
    const hasWritten = (await stepsOf(context)).some(({ inBand, state }) => inBand && state !== 'pending');
    if (hasWritten || !saysItLacks(error, 'standby')) throw error;
    context.log.warn({ err: error }, 'disks not flushed: no step has run in the ramdisk');
  }
}

const Logs = z.looseObject({ system_logs: z.string() });
/** Short: an agent that has just failed may not answer, and the machine has yet to be made safe. */
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
    // the failure that matters is the one before; that the logs are missing is reported beside it
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
  // what is not base64 is skipped; a pattern would take part of a second for tens of MiB
  if (bytes.length !== Buffer.byteLength(text, 'base64'))
    throw new AppError('agent_error', 'collect its logs: they are not base64');
  return bytes;
}

export const collectLogs: ConductorStep = {
  interface: 'deploy',
  step: 'collect_logs',
  description: "Keeps the agent's logs (`baton logs NODE`), if it answers.",
  run,
};
