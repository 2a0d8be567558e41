import type { Remark } from '#conductor/model/remark.ts';
import { newRemark } from '#conductor/model/remark-words.ts';
import type { ObservedFlow } from '#conductor/sites/nodes/node-facts.ts';

/** What a flow is doing: `cleaning: deploy.erase_devices_metadata, 40 %`, `deploying: plugin ntp 1.0, task 2`. Pure. */
export function remarkOnFlow({
  kind,
  held,
  onHold,
  step,
}: Pick<ObservedFlow, 'kind' | 'held' | 'onHold' | 'step'>): Remark {
  return newRemark('flow', {
    flow: kind,
    held: held ?? undefined,
    onHold: onHold ?? undefined,
    step: step?.name,
    plugin: step?.plugin?.plugin,
    version: step?.plugin?.version,
    task: step?.plugin?.task.toString(),
    percent: step?.percent,
    phase: step?.phase,
    waitingFor: step?.waitingFor ?? undefined,
  });
}

/** The first line of a failure, and where the rest of it is. Pure. */
export function remarkOnFailure(node: string, flow: Pick<ObservedFlow, 'kind' | 'error' | 'state'>): Remark {
  const [first = ''] = (flow.error ?? '').split('\n');
  return newRemark('flow-failed', { error: first || `${flow.kind} ${flow.state}`, node });
}
