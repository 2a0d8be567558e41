import type { FlowStepView, FlowView } from '#conductor/api/flows.ts';

/** A step that has not begun, but for what the test says. */
export function stepView(more: Partial<FlowStepView>): FlowStepView {
  return {
    uuid: more.step ?? 'deploy',
    position: 1,
    phase: 'main',
    interface: 'deploy',
    step: 'deploy',
    priority: 100,
    origin: 'core',
    plugin: null,
    reason: '',
    in_band: false,
    state: 'pending',
    started_at: null,
    ended_at: null,
    waiting_for: null,
    wait_until: null,
    progress: null,
    image_bytes: null,
    note: null,
    error: null,
    attempts: [],
    code: null,
    subject: null,
    may_skip: false,
    usual_seconds: null,
    ...more,
  };
}

/** A deploy under way with these steps, but for what the test says. */
export function flowView(
  steps: readonly FlowStepView[],
  more: Partial<FlowView> & Pick<FlowView, 'started_at'>,
): FlowView {
  return {
    uuid: 'f',
    kind: 'deploy',
    state: 'running',
    ended_at: null,
    error: null,
    held: null,
    on_hold: null,
    abort_requested: null,
    restarts: 0,
    request_id: null,
    global_request_id: null,
    advice: null,
    boot: [],
    steps,
    ...more,
  };
}
