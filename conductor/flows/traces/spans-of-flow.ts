import { createHash } from 'node:crypto';
import type { FlowRow, FlowStepRow, flowEvents } from '#conductor/kernel/db/schema/flow.ts';
import type { Span } from '#conductor/kernel/traces/send-spans.ts';
import { stepTitle } from '#conductor/model/planned-step.ts';

export interface EndedFlow {
  /** Of a node, or of the site. */
  readonly flow: Omit<FlowRow, 'nodeUuid' | 'kind'> & { readonly nodeUuid: string | null; readonly kind: string };
  readonly nodeName: string | null;
  readonly steps: readonly FlowStepRow[];
  /** In their order. */
  readonly events: readonly (typeof flowEvents.$inferSelect)[];
}

/**
 * A flow as a trace: the flow, its steps that have begun below it, and below those the commands that the agent was given, one
 * an attempt. Ids come from what is in the database: whoever sends it, and however often, it is the same trace. Pure.
 */
export function spansOfFlow({ flow, nodeName, steps, events }: EndedFlow): Span[] {
  const end = flow.endedAt ?? flow.startedAt;
  const traceId = flow.uuid.replaceAll('-', '');
  const root: Span = {
    traceId,
    spanId: idOf(flow.uuid),
    name: flow.kind,
    kind: 'internal',
    start: flow.startedAt,
    end,
    attributes: {
      'baton.flow': flow.uuid,
      'baton.flow.state': flow.state,
      'baton.node.uuid': flow.nodeUuid,
      'baton.node.name': nodeName,
      'baton.action': flow.actionId ?? flow.siteActionId,
      'enduser.id': flow.requestedBy,
    },
    events: [],
    error: flow.state === 'succeeded' ? null : (flow.error ?? flow.state),
  };
  const ofSteps = steps.flatMap((step) =>
    spansOfStep(step, { root, events: events.filter(({ stepUuid }) => stepUuid === step.uuid) }),
  );
  return [root, ...ofSteps];
}

function spansOfStep(
  step: FlowStepRow,
  { root, events }: { readonly root: Span; readonly events: EndedFlow['events'] },
): Span[] {
  const { startedAt, endedAt } = step;
  if (!startedAt) return [];
  const end = endedAt ?? root.end;
  const starts = events.filter(({ event }) => event === 'started');
  const span: Span = {
    traceId: root.traceId,
    spanId: idOf(step.uuid),
    parentSpanId: root.spanId,
    name: stepTitle(step),
    kind: 'internal',
    start: startedAt,
    end,
    attributes: {
      'baton.step': step.uuid,
      'baton.step.phase': step.phase,
      'baton.step.origin': step.origin,
      'baton.step.in_band': step.inBand,
      'baton.step.state': step.state,
      'baton.step.attempts': starts.length,
      'baton.conductor': events.at(-1)?.conductor ?? null,
    },
    events: events.map(({ event, at, detail }) => ({
      name: event,
      at,
      attributes: { 'baton.detail': shortened(detail) },
    })),
    error: shortened(step.error),
  };
  if (!step.inBand) return [span];
  const commands = starts.map(({ id, at, conductor }, index): Span => {
    const isLast = index === starts.length - 1;
    return {
      ...span,
      spanId: idOf(`command ${id}`),
      parentSpanId: span.spanId,
      name: `agent ${span.name}`,
      kind: 'client',
      start: at,
      end: isLast ? end : (starts[index + 1]?.at ?? end),
      attributes: { 'baton.step': step.uuid, 'baton.attempt': index + 1, 'baton.conductor': conductor },
      events: [],
      error: isLast ? span.error : null,
    };
  });
  return [span, ...commands];
}

const mostLetters = 1000;
const shortened = (text: string | null): string | null => text?.slice(0, mostLetters) ?? null;

/** 16 hex digits. */
const idOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
