import { z } from 'zod';
import { type Answer, nullableText, wholeNumber } from '#conductor/api/values.ts';
import { nameSome } from '#shared/words.ts';

const count = wholeNumber.nullable();

const PlannedDisk = z.strictObject({
  name: z.string(),
  serial: nullableText,
  wwn: nullableText,
  model: nullableText,
  size_bytes: count,
  holds_os: z.boolean(),
  kept: nullableText,
});
export type PlannedDiskView = Answer<typeof PlannedDisk>;

const LostPod = z.strictObject({ pod: z.string(), because: z.enum(['unmanaged', 'local data']) });
export type LostPodView = Answer<typeof LostPod>;

/** `dry_run` of an action that tears nodes down: all that will be done to one, and what is known to be wrong now. */
export const TeardownNode = z.strictObject({
  name: z.string(),
  provision_state: nullableText.meta({ description: 'null = it is not enrolled.' }),
  refused: nullableText.meta({ description: 'What the action would be refused for.' }),
  wrong: z.array(z.string()).meta({ description: 'What stands in the way now, and may have passed by then.' }),
  kubernetes: z
    .strictObject({
      is_member: z.boolean().nullable(),
      ready: z.boolean().nullable(),
      cordoned: z.boolean().nullable(),
      pods: count,
      evicted: count,
      kept_by_budgets: z
        .array(
          z.strictObject({
            pod: z.string(),
            budgets: z.array(
              z.strictObject({
                name: z.string(),
                current_healthy: count,
                desired_healthy: count,
                disruptions_allowed: count,
              }),
            ),
          }),
        )
        .nullable(),
      lost: z.array(LostPod).nullable().meta({ description: 'Pods that go all the same.' }),
    })
    .nullable()
    .meta({ description: 'null = this conductor knows no cluster.' }),
  etcd: z.array(z.strictObject({ cluster: z.string(), members: z.array(z.string()).nullable() })),
  disks_seen_at: z.string().nullable(),
  disks: z.strictObject({
    wiped: z.array(PlannedDisk),
    kept: z.array(PlannedDisk),
    remarks: z.array(z.string()),
  }),
  steps: z.array(
    z.strictObject({
      step: z.string(),
      does: z.string(),
      timeout: z.number().nullable(),
      on_failure: z.string(),
    }),
  ),
});
export type TeardownNodeView = Answer<typeof TeardownNode>;
export type TeardownStepView = TeardownNodeView['steps'][number];
export type KubernetesLook = NonNullable<TeardownNodeView['kubernetes']>;
export type EtcdLook = TeardownNodeView['etcd'][number];
export type DrainLook = Pick<KubernetesLook, 'evicted' | 'kept_by_budgets' | 'lost'>;
export type KeptPodView = NonNullable<DrainLook['kept_by_budgets']>[number];
export type WipePlan = TeardownNodeView['disks'];

/** So many pods, or nodes, are named in a sentence. */
export const mostNamed = 10;

/** Writes `default/a, default/b and 3 more`. Pure. */
export function namePods(pods: readonly { readonly pod: string }[]): string {
  return nameSome(
    pods.map(({ pod }) => pod),
    mostNamed,
  );
}
