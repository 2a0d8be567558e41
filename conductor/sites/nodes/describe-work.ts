import { flowKinds } from '#conductor/model/flow-kinds.ts';
import type { FlowStanding, StepStanding } from '#conductor/sites/nodes/node-facts.ts';

/** `cleaning: deploy.erase_devices_metadata, 40 %`, `deploying: plugin ntp 1.0 task 2, waiting for …`. Pure. */
export function describeFlow(flow: Pick<FlowStanding, 'kind' | 'held' | 'onHold' | 'step'>): string {
  const doing = flowKinds[flow.kind].doing;
  if (flow.held !== null) return `${doing}: held, ${flow.held}`;
  if (flow.onHold !== null) return `${doing}: on hold for ${flow.onHold}`;
  return flow.step ? `${doing}: ${describeStep(flow.step)}` : doing;
}

function describeStep({ name, plugin, waitingFor, phase, percent }: StepStanding): string {
  const what = plugin ? `plugin ${plugin.plugin} ${plugin.version}, task ${plugin.task}` : name;
  if (percent !== undefined) return `${what}, ${percent} %`;
  if (phase !== undefined) return `${what}, ${phase}`;
  return waitingFor === null ? what : `${what}, waiting for ${waitingFor}`;
}

/** The first line of a failure, and where the rest of it is. Pure. */
export function describeFailure(name: string, flow: Pick<FlowStanding, 'kind' | 'error' | 'state'>): string {
  const [first = ''] = (flow.error ?? '').split('\n');
  const what = first || `${flow.kind} ${flow.state}`;
  return `${what} (baton watch ${name})`;
}
