import { findLatestFlow, listSteps } from '#conductor/flows/log/flow-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { stepKey } from '#conductor/model/flows/planned-step.ts';

const readingSteps = new Set(['management.get_sensors']);
const ramdiskBoot = 'deploy.boot_ramdisk';

/** Where a failed flow leaves the instance that ran before it. */
export interface WhatRan {
  /** It runs on, on its networks: nothing was done to the machine. */
  readonly isAsItWas: boolean;
  /** The ramdisk has booted, and none of its steps has begun. */
  readonly hasOnlyBooted: boolean;
}

/** @param harmless the step that has failed before it acted */
export function lookAtInstance(
  { kind }: Pick<FlowRow, 'kind'>,
  steps: readonly FlowStepRow[],
  harmless: string | undefined,
): WhatRan {
  // one that was retried, and may have acted, can be skipped, too
  const ran = steps.filter(
    ({ state, startedAt }) => startedAt !== null || (state !== 'pending' && state !== 'skipped'),
  );
  const hasBooted = ran.some((step) => stepKey(step) === ramdiskBoot);
  const isHarmless = (step: FlowStepRow): boolean =>
    step.uuid === harmless ||
    readingSteps.has(stepKey(step)) ||
    (stepKey(step) === ramdiskBoot && step.state === 'succeeded');
  const isUntouched = kind === 'service' && ran.every(isHarmless);
  return {
    isAsItWas: (isUntouched && !hasBooted) || (kind === 'restore' && !hasPowerOff(steps)),
    hasOnlyBooted: isUntouched && hasBooted,
  };
}

function hasPowerOff(steps: readonly FlowStepRow[]): boolean {
  return steps.some((step) => stepKey(step) === 'power.power_off');
}

/** Returns whether the instance of a node whose service has failed runs all the same, as far as is known. */
export async function isLeftRunning(db: Queryable, node: Pick<NodeRow, 'uuid' | 'powerState'>): Promise<boolean> {
  const flow = node.powerState === 'power on' ? await findLatestFlow(db, node.uuid) : undefined;
  if (!flow || !['service', 'restore'].includes(flow.kind)) return false;
  const cleanup = (await listSteps(db, flow.uuid)).filter(({ phase }) => phase === 'cleanup');
  return (
    cleanup.length === 0 || cleanup.some(({ step, state }) => step === 'bring_back_instance' && state === 'succeeded')
  );
}
