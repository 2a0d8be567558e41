import type { AgentClient } from '#conductor/agents/agent-client.ts';
import { dumpNode, dumpPorts } from '#conductor/agents/node-dump.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type AdvertisedStep, AdvertisedSteps, HardwareManagerVersion, type StepKind } from '#shared/wire/step.ts';

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
