import { and, eq, sql } from 'drizzle-orm';
import { type AgentClient, saysItLacks } from '#conductor/agents/agent-client.ts';
import { reportedFault } from '#conductor/agents/agent-fault.ts';
import { dumpNode, dumpPorts } from '#conductor/agents/node-dump.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type AgentStepsRow, agentSteps } from '#conductor/kernel/db/schema/agent.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { type KnownDisk, toKnownDisk } from '#conductor/model/known-disk.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { CommandRequest, CommandResult } from '#shared/wire/agent-calls.ts';
import { HeardLldp, InventoryDocument } from '#shared/wire/inventory.ts';
import { type AdvertisedStep, AdvertisedSteps, HardwareManagerVersion, type StepKind } from '#shared/wire/step.ts';

/** An agent that listens for LLDP answers when switches have spoken: every 30 s, and some only every other time. */
const timeoutMs = 120_000;

/** Explains why the agent has not done it, or has not answered as it should. */
function reasonOf({ command_error: error }: CommandResult): string | undefined {
  return error?.details ?? error?.message ?? undefined;
}

/**
 * Has the agent do what is done at once, and answers its result.
 * @param doing for the error: `flush the disks`
 * @throws AppError `agent_error` with the agent's reason, `unavailable`, `busy`
 */
export async function callAgent(
  agent: AgentClient,
  doing: string,
  name: string,
  params: JsonObject = {},
): Promise<unknown> {
  const result = await agent.post({ name, params }, { wait: true });
  if (result.command_status === 'SUCCEEDED') return result.command_result;
  throw new AppError('agent_error', `${doing}: ${reasonOf(result) ?? result.command_status}`, reportedFault(result));
}

/**
 * Asks what the agent's machine is made of now, whole as the agent reports it.
 * @throws AppError `agent_error`, `unavailable`, `busy`
 */
export async function askForInventory(agent: AgentClient): Promise<JsonObject> {
  const name = 'poll.get_hardware_info';
  const result = await agent.post({ name, params: {} }, { wait: true, timeoutMs });
  const parsed = InventoryDocument.safeParse(result.command_result);
  if (parsed.success) return result.command_result as JsonObject;
  const reason = reasonOf(result);
  throw new AppError('agent_error', `ask the agent for the inventory (${name})${reason ? `: ${reason}` : ''}`, {
    cause: reason ? undefined : parsed.error,
    ...reportedFault(result),
  });
}

/**
 * Asks an agent for its disks.
 * @throws AppError `agent_error`, also for an inventory that says nothing of disks, `unavailable`, `busy`
 */
export async function askForDisks(agent: AgentClient): Promise<KnownDisk[]> {
  const { disks } = InventoryDocument.parse(await askForInventory(agent));
  if (disks) return disks.map(toKnownDisk);
  throw new AppError('agent_error', 'ask the agent for its disks: its inventory has no list of disks');
}

/** Asks what switches have said so far to an agent, which listens from the first question on; Ironic's agent can't. */
export async function askForHeardLldp(agent: AgentClient): Promise<HeardLldp> {
  const name = 'poll.get_heard_lldp';
  const result = await agent.post({ name, params: {} }, { wait: true });
  const parsed = HeardLldp.safeParse(result.command_result);
  if (parsed.success) return parsed.data;
  const reason = reasonOf(result) ?? 'its answer does not have the expected form';
  throw new AppError('agent_error', `ask the agent what switches say (${name}): ${reason}`);
}

/** Finds the steps that the node's ramdisk offered when it was last asked; `undefined` when it never was. */
export async function findAgentSteps(
  db: Queryable,
  nodeUuid: string,
  kind: StepKind,
): Promise<AgentStepsRow | undefined> {
  const [row] = await db
    .select()
    .from(agentSteps)
    .where(and(eq(agentSteps.nodeUuid, nodeUuid), eq(agentSteps.kind, kind)));
  return row;
}

export async function saveAgentSteps(
  db: Queryable,
  offer: {
    readonly nodeUuid: string;
    readonly kind: StepKind;
    readonly steps: AdvertisedStep[];
    readonly hardwareManagerVersion: HardwareManagerVersion;
  },
): Promise<void> {
  const { steps, hardwareManagerVersion } = offer;
  await db
    .insert(agentSteps)
    .values(offer)
    .onConflictDoUpdate({
      target: [agentSteps.nodeUuid, agentSteps.kind],
      set: { steps, hardwareManagerVersion, gatheredAt: sql`now()` },
    });
}

interface AskingContext {
  readonly agent: () => AgentClient;
  readonly secrets: Secrets;
  readonly node: NodeRow;
  readonly ports: () => Promise<readonly PortRow[]>;
}

export interface AgentOffer {
  readonly advertised: AdvertisedStep[];
  readonly version: HardwareManagerVersion;
  /** The agent has no steps of this kind because it has no such extension. */
  readonly lacksExtension?: true;
}

/**
 * Returns the steps that the agent has for flows of that kind (agent-protocol.md §4.2). One without the extension has none,
 * which is no error: Ironic's of before 2020 lack `deploy`, those of before 2023 `service`.
 * @throws AppError `agent_error`, `unavailable`, `busy`
 */
export async function askForSteps({ agent, secrets, node, ports }: AskingContext, kind: StepKind): Promise<AgentOffer> {
  const name = `${kind}.get_${kind}_steps`;
  const params = {
    node: dumpNode(secrets, node, { hardwareManagerVersion: null }),
    ports: dumpPorts(await ports()),
  };
  const result = await postUnlessLacking(agent(), { name, params }, kind);
  if (result === undefined) return { advertised: [], version: {}, lacksExtension: true };
  const answer = result.command_result as Record<string, unknown> | null;
  const steps = AdvertisedSteps.safeParse(answer?.[`${kind}_steps`]);
  const version = HardwareManagerVersion.safeParse(answer?.['hardware_manager_version']);
  if (!steps.success || !version.success) {
    const reason = reasonOf(result) ?? 'its answer does not have the expected form';
    throw new AppError('agent_error', `ask the agent for its steps (${name}): ${reason}`);
  }
  return { advertised: Object.values(steps.data).flat(), version: version.data };
}

/** @returns `undefined` from an agent that has no such extension */
async function postUnlessLacking(
  agent: AgentClient,
  command: CommandRequest,
  extension: string,
): Promise<CommandResult | undefined> {
  try {
    return await agent.post(command, { wait: true });
  } catch (error) {
    if (!saysItLacks(error, extension)) throw error;
    if (await lacksExtension(agent, extension)) return undefined;
    throw new AppError(
      'agent_error',
      `the agent has the extension ${extension}, whose command fails there (its log has a KeyError): correct the ramdisk's hardware managers`,
      { cause: error },
    );
  }
}

/**
 * Returns whether the extension is missing. Ironic's agent says so as well when a command of one that it has fails with a
 * KeyError (agent-protocol.md §4); but a command that none has is refused in other words by an extension that is there.
 */
async function lacksExtension(agent: AgentClient, extension: string): Promise<boolean> {
  try {
    await agent.post({ name: `${extension}.is_there`, params: {} }, { wait: true });
    return false;
  } catch (error) {
    if (errorCode(error) !== 'agent_error') throw error;
    return saysItLacks(error, extension);
  }
}

/** Returns whether two boots' hardware managers are the same ones. */
export function sameVersions(a: HardwareManagerVersion, b: HardwareManagerVersion): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => a[name] === b[name]);
}
