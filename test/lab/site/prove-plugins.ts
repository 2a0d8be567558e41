import type { FlowView } from '#conductor/api/flows.ts';
import type { Proof } from '#test/lab/proofs/proof.ts';

/** Proves the deploy's timeline: what runs in the ramdisk comes before the image, what runs in the system after it. */
export function provePlugins(
  flow: FlowView | undefined,
  tasks: { readonly pre: number; readonly post: number },
): Proof {
  const steps = flow?.steps ?? [];
  const image = steps.findIndex(({ step }) => step === 'write_image');
  const reported = steps.flatMap(({ plugin, state }, index) =>
    plugin ? [{ ...plugin, state, isInPlace: plugin.stage === 'pre_deployment' ? index < image : index > image }] : [],
  );
  const counted = (stage: string): number => reported.filter((task) => task.stage === stage).length;
  return {
    what: "the plugins' tasks in the timeline, in the ramdisk before the image, in the system after it",
    holds:
      counted('pre_deployment') === tasks.pre &&
      counted('post_deployment') === tasks.post &&
      reported.every(({ state, isInPlace }) => isInPlace && state === 'succeeded'),
    seen: reported.map(({ plugin, task, state }) => `${plugin} ${task} ${state}`).join(', ') || 'none',
  };
}
