import { z } from 'zod';
import { actionName, siteFault } from '#conductor/api/actions.ts';
import { type Answer, nullableText, wholeNumber } from '#conductor/api/values.ts';

/** `POST /api/v1.0/actions?rehearse=true`. Times are seconds from the beginning of the action. */

const Times = z
  .strictObject({
    median_seconds: z.number(),
    p90_seconds: z.number(),
    is_assumed: z.boolean().meta({
      description: 'They follow from the time of a flow of which no run is recorded; see durations.',
    }),
  })
  .meta({ id: 'RehearsedTimes' });
export type RehearsedTimes = Answer<typeof Times>;

const Counts = z.strictObject({ median: wholeNumber, most: wholeNumber });
const percent = z.number().meta({ description: 'Of the runs.' });
const span = {
  begins: Times.nullable().meta({ description: 'null: it begins in no run.' }),
  ends: Times.nullable(),
  begun_percent: percent,
  success_percent: percent.meta({ description: 'Of the runs; of a group: those in which it meets its criteria.' }),
  failure_percent: percent,
};

export const ActionRehearsal = z
  .strictObject({
    rehearsed: z.literal(true),
    name: actionName,
    committed_rev_id: wholeNumber,
    runs: wholeNumber,
    seed: wholeNumber.meta({ description: 'The same seed on the same nodes gives the same answer.' }),
    ends: Times.nullable().meta({ description: 'Of the runs that come to an end.' }),
    success_percent: percent.meta({ description: 'Of the runs: no critical group fails.' }),
    pauses: z
      .array(z.strictObject({ group: z.string(), reason: z.string(), percent }))
      .meta({ description: 'Runs that end in a pause, where a person would say how it goes on.' }),
    stuck_percent: percent.meta({ description: 'Runs that wait for a window that does not open.' }),
    most_out: Counts.meta({ description: 'Most nodes at one moment that are at work, or have failed.' }),
    racks: z.array(z.strictObject({ rack: nullableText, most_out: Counts })),
    groups: z.array(
      z.strictObject({
        name: z.string(),
        critical: z.boolean(),
        depends_on: z.array(z.string()),
        member_count: wholeNumber,
        ...span,
        most_out: Counts,
      }),
    ),
    nodes: z.array(
      z.strictObject({
        name: z.string(),
        rack: nullableText,
        ...span,
        flows: z.array(z.string()).meta({ description: 'What would be begun on it, one after another.' }),
        remark: nullableText.meta({ description: 'What would be said of it: why it stays as it is, or fails.' }),
      }),
    ),
    critical_path: z
      .array(
        z.strictObject({
          group: z.string(),
          node: nullableText.meta({ description: 'Its node that ends last.' }),
          begins_seconds: z.number(),
          ends_seconds: z.number(),
        }),
      )
      .meta({ description: 'Groups that the end follows from, in the run whose end is the median.' }),
    durations: z
      .array(
        z.strictObject({
          flow: z.string(),
          model: nullableText,
          nodes: wholeNumber,
          basis: z.enum(['model', 'other models', 'assumed']),
          flows: wholeNumber.meta({ description: 'Recorded flows that times and failures are drawn from.' }),
          assumed_seconds: z.number().nullable(),
        }),
      )
      .meta({ description: 'Where the times of flows are from.' }),
    validations: z.array(siteFault),
    remarks: z.array(z.string()),
  })
  .meta({ id: 'ActionRehearsal' });
export type ActionRehearsal = Answer<typeof ActionRehearsal>;
