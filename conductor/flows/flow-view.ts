import type { Queryable } from '#conductor/db/open.ts';
import type { FlowStepRow } from '#conductor/db/schema/flow.ts';
import { findLatestFlow, listSteps } from '#conductor/flows/flow-store.ts';

/** `GET /v1/nodes/{node}/flow`: the flow under way, or the last one, as operators watch it. Times are ISO 8601. */
export interface FlowView {
  readonly uuid: string;
  readonly kind: string;
  readonly state: string;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly error: string | null;
  /** Why nobody works on it: `node is in maintenance`. */
  readonly held: string | null;
  readonly steps: readonly FlowStepView[];
}

export interface FlowStepView {
  readonly uuid: string;
  readonly position: number;
  readonly phase: string;
  readonly interface: string;
  readonly step: string;
  readonly priority: number;
  readonly origin: string;
  readonly in_band: boolean;
  readonly state: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Why it waits, and when it gives up. */
  readonly waiting_for: string | null;
  readonly wait_until: string | null;
  readonly progress: unknown;
  readonly error: string | null;
}

export async function latestFlow(db: Queryable, nodeUuid: string): Promise<FlowView | undefined> {
  const flow = await findLatestFlow(db, nodeUuid);
  if (!flow) return undefined;
  const steps = await listSteps(db, flow.uuid);
  return {
    uuid: flow.uuid,
    kind: flow.kind,
    state: flow.state,
    started_at: flow.startedAt.toISOString(),
    ended_at: flow.endedAt?.toISOString() ?? null,
    error: flow.error,
    held: flow.held,
    steps: steps.map(viewStep),
  };
}

function viewStep(step: FlowStepRow): FlowStepView {
  return {
    uuid: step.uuid,
    position: step.position,
    phase: step.phase,
    interface: step.interface,
    step: step.step,
    priority: step.priority,
    origin: step.origin,
    in_band: step.inBand,
    state: step.state,
    started_at: step.startedAt?.toISOString() ?? null,
    ended_at: step.endedAt?.toISOString() ?? null,
    waiting_for: step.waitingFor,
    wait_until: step.waitUntil?.toISOString() ?? null,
    progress: step.progress,
    error: step.error,
  };
}
