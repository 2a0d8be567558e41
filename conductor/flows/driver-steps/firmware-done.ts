import { z } from 'zod';
import { noteOutput } from '#conductor/flows/log/flow-store.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';

/** Updates that are done already, kept with the step: a conductor that takes over goes on from there. */
const Done = z.object({
  updates: z.array(
    z.object({
      component: z.string(),
      before: z.string().nullable(),
      /** The path at the BMC; `null` = it has named none. */
      task: z.string().nullable(),
      hasEnded: z.boolean(),
      /** Whether its task has said that it ended well; an older release has not noted it. */
      hasOwnEnd: z.boolean().default(false),
      /** The task has told its state; an older release has not noted it. */
      hasWord: z.boolean().default(true),
      /** Milliseconds since the epoch: from then on it has not begun. */
      pendingSince: z.number().nullable(),
      /** Likewise: from then on the BMC has answered, without its task and with the version of before. */
      lostSince: z.number().nullable().default(null),
      resets: z.number(),
      /** Likewise: when it was first seen that the BMC has taken it. */
      since: z.number().nullable().default(null),
    }),
  ),
  /** The component that the BMC has been asked to write, or is about to be: a conductor that dies then does not know. */
  begun: z.string().nullable().default(null),
  /** The same, with what the BMC showed before; absent where an older release has begun it. */
  asked: z
    .object({
      component: z.string(),
      before: z.object({ version: z.string().nullable(), tasks: z.array(z.string()).readonly().nullable() }),
      /** Milliseconds since the epoch: when it was first asked for, which bounds the asking. */
      since: z.number(),
      /** Likewise: when it was last asked for, or that request last failed; absent where an older release has asked. */
      lastAt: z.number().nullable().default(null),
      tries: z.number().default(1),
      /** The failure of the last request, once it has one; `byBmc` = in the BMC's own words. */
      failure: z.object({ words: z.string(), byBmc: z.boolean() }).nullable().default(null),
    })
    .nullable()
    .default(null),
  /** The reset that follows all updates has begun. */
  isResetting: z.boolean().default(false),
  /** Milliseconds since the epoch: when it began. */
  resetSince: z.number().nullable().default(null),
  wasReset: z.boolean(),
});
export type Done = z.infer<typeof Done>;
export type Update = Done['updates'][number];
export type Asked = NonNullable<Done['asked']>;

export function readDone({ step }: StepContext): Done {
  const none = { updates: [], begun: null, asked: null, isResetting: false, resetSince: null, wasReset: false };
  return Done.safeParse(step.output).data ?? none;
}

export function noteFirmwareDone(context: StepContext, done: Done): Promise<void> {
  return context.record((tx) => noteOutput(tx, context.step.uuid, done));
}

/** Updates that take effect at the reset that follows them all: the BMC restarts by itself. */
export function untilReset({ updates }: Done): readonly Update[] {
  return updates.filter(({ component, resets }) => component !== 'bmc' && resets === 0);
}
