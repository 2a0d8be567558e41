import { findAgentSteps } from '#conductor/agents/ask-agent.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { stepKey } from '#conductor/model/flows/planned-step.ts';

interface StepName {
  readonly interface: string;
  readonly step: string;
}

const hour = 3600;

/** Seconds of steps of which the agent does not say it, as ironic-python-agent and its hardware managers never do. */
const unsaid: readonly { readonly steps: RegExp; readonly seconds: number }[] = [
  { steps: /^deploy\.erase_devices(_express)?$/, seconds: 12 * hour },
  { steps: /secure_erase|sanitize|format_nvme/, seconds: 12 * hour },
  { steps: /^(firmware|bios|raid)\.|firmware|flash/, seconds: hour },
];

/**
 * Returns the milliseconds in which a loss of power may break the machine after its agent was last heard to be at the step:
 * as the agent has advertised it, else by the step's name; `undefined` = it breaks nothing.
 * @param as the agent's step, where it has another name than ours
 */
export async function inBandHoldMs(context: StepContext, as: StepName = context.step): Promise<number | undefined> {
  const kind = flowKinds[context.flow.kind].inBand?.kind;
  const offer = kind && (await context.ask(findAgentSteps(context.db, context.node.uuid, kind)));
  const said = offer?.steps.find((each) => stepKey(each) === stepKey(as))?.baton_must_not_lose_power;
  const seconds = said ?? secondsByName(stepKey(as));
  return seconds === undefined || seconds === 0 ? undefined : seconds * 1000;
}

export function secondsByName(name: string): number | undefined {
  return unsaid.find(({ steps }) => steps.test(name))?.seconds;
}
