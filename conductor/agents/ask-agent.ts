import { and, eq, sql } from 'drizzle-orm';
import type { AgentClient } from '#conductor/agents/agent-client.ts';
import { dumpNode, dumpPorts } from '#conductor/agents/node-dump.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type AgentStepsRow, agentSteps } from '#conductor/kernel/db/schema/agent.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { HeardLldp, InventoryDocument } from '#shared/wire/inventory.ts';
import { type AdvertisedStep, AdvertisedSteps, HardwareManagerVersion, type StepKind } from '#shared/wire/step.ts';

/** An agent that listens for LLDP answers when switches have spoken: every 30 s, and some only every other time. */
const timeoutMs = 120_000;

/**
 * What the agent's machine is made of now, whole as the agent reports it.
 * @throws AppError `agent_error`, `unavailable`, `busy`
 */
export async function askForInventory(agent: AgentClient): Promise<JsonObject> {
  const name = 'poll.get_hardware_info';
  const result = await agent.post({ name, params: {} }, { wait: true, timeoutMs });
  const parsed = InventoryDocument.safeParse(result.command_result);
  if (parsed.success) return result.command_result as JsonObject;
  const reason = result.command_error?.details ?? result.command_error?.message;
  throw new AppError('agent_error', `ask the agent for the inventory (${name})${reason ? `: ${reason}` : ''}`, {
    cause: reason ? undefined : parsed.error,
  });
}

/** What switches have said so far to an agent, which listens from the first question on; Ironic's agent can't. */
export async function askForHeardLldp(agent: AgentClient): Promise<HeardLldp> {
  const name = 'poll.get_heard_lldp';
  const result = await agent.post({ name, params: {} }, { wait: true });
  const parsed = HeardLldp.safeParse(result.command_result);
  if (parsed.success) return parsed.data;
  const reason = result.command_error?.details ?? result.command_error?.message ?? 'its answer has another form';
  throw new AppError('agent_error', `ask the agent what switches say (${name}): ${reason}`);
}

/** What the node's ramdisk offered when it was last asked; `undefined` when it never was. */
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

export interface AgentOffer {
  readonly advertised: AdvertisedStep[];
  readonly version: HardwareManagerVersion;
}

/**
 * The steps that the agent has for flows of that kind (agent-protocol.md §4.2). An agent without the extension has none;
 * that is no error (DESIGN.md).
 * @throws AppError `agent_error`, `unavailable`, `busy`
 */
export async function askForSteps(
  agent: AgentClient,
  kind: StepKind,
  about: { readonly secrets: Secrets; readonly node: NodeRow; readonly ports: readonly PortRow[] },
): Promise<AgentOffer> {
  const name = `${kind}.get_${kind}_steps`;
  const params = {
    node: dumpNode(about.secrets, about.node, { hardwareManagerVersion: null }),
    ports: dumpPorts(about.ports),
  };
  const result = await agent.post({ name, params }, { wait: true });
  if (result.command_status === 'FAILED' && isMissingExtension(result.command_error?.message)) {
    return { advertised: [], version: {} };
  }
  const answer = result.command_result as Record<string, unknown> | null;
  const steps = AdvertisedSteps.safeParse(answer?.[`${kind}_steps`]);
  const version = HardwareManagerVersion.safeParse(answer?.['hardware_manager_version']);
  if (!steps.success || !version.success) {
    const reason = result.command_error?.details ?? result.command_error?.message ?? 'its answer has another form';
    throw new AppError('agent_error', `ask the agent for its steps (${name}): ${reason}`);
  }
  return { advertised: Object.values(steps.data).flat(), version: version.data };
}

function isMissingExtension(message: string | null | undefined): boolean {
  return /extension with id .* not found/i.test(message ?? '');
}

/** Whether two boots' hardware managers are the same ones. */
export function sameVersions(a: HardwareManagerVersion, b: HardwareManagerVersion): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => a[name] === b[name]);
}
