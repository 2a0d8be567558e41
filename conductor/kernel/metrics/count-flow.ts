import type { KernelContext } from '#conductor/kernel/context.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent-session.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { readOrigin } from '#shared/wire/image-origin.ts';

type MetricsContext = Pick<KernelContext, 'metrics' | 'clock' | 'log'>;

/** The state that a flow ends in, by the state in which its last step ended. */
function endStateOf(flow: Pick<FlowRow, 'state'>): 'succeeded' | 'failed' | 'aborted' {
  if (flow.state === 'failing') return 'failed';
  return flow.state === 'aborting' ? 'aborted' : 'succeeded';
}

export function countFlow(context: MetricsContext, flow: FlowRow, state = endStateOf(flow)): void {
  const seconds = secondsSince(context, flow.startedAt);
  context.metrics.flowSeconds.observe({ kind: flow.kind, state }, seconds);
  context.log.info({ node: flow.nodeUuid, flow: flow.uuid, kind: flow.kind, state, seconds }, 'flow ended');
}

export function countStep(
  context: MetricsContext,
  { flow, step }: { readonly flow: Pick<FlowRow, 'kind'>; readonly step: FlowStepRow },
  outcome: 'succeeded' | 'failed',
): void {
  const labels = { kind: flow.kind, step: context.metrics.stepLabel(step), outcome };
  context.metrics.stepSeconds.observe(labels, secondsSince(context, step.startedAt));
}

/** Of a step's output, where that says it: of an image in chunks. */
export function countImageBytes({ metrics }: MetricsContext, output: unknown): void {
  const found = readOrigin(output);
  for (const origin of found ? (['kept', 'copied', 'fetched', 'neighbours'] as const) : []) {
    metrics.imageBytes.inc({ origin }, found?.[origin] ?? 0);
  }
}

/** The agent's next step has begun after the one that the agent's last heartbeat spoke of. */
export function countHop(context: MetricsContext, session: Pick<AgentSessionRow, 'lastHeartbeatAt'> | null): void {
  if (session?.lastHeartbeatAt) {
    context.metrics.hopSeconds.observe({}, secondsSince(context, session.lastHeartbeatAt));
  }
}

/** Hosts' clocks may differ a little from the database's: no time is negative. */
function secondsSince(context: MetricsContext, moment: Date | null): number {
  if (!moment) return 0;
  return Math.max(0, context.clock.now().getTime() - moment.getTime()) / 1000;
}
