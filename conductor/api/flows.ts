import { z } from 'zod';
import { type Answer, nullableText, time, uuid, wholeNumber } from '#conductor/api/values.ts';
import { bootEvents } from '#conductor/model/power-and-boot.ts';

const plugin = z
  .strictObject({
    plugin: z.string(),
    version: z.string(),
    task: wholeNumber,
    stage: z.enum(['pre_deployment', 'post_deployment']),
    place: z.string().meta({ description: 'The stage as tasks.yaml has it: post_deployment/100.' }),
    timeout: z.number().optional(),
  })
  .nullable()
  .meta({ description: 'The plugin’s task that the step is.' });

const faultCode = nullableText.meta({
  description: 'Code of what it failed by, or waits for, by which it is advised: image_missing, switch_unreachable.',
});
const subject = nullableText.meta({
  description: 'The one thing that the code is about: /dev/sda, leaf1, the URL of an image.',
});

/** Ids of the request that has started a flow, or the flow or action that it follows. */
const ofRequest = {
  request_id: nullableText.meta({
    description:
      'X-OpenStack-Request-ID of the answer to the request that has started it, also where a flow or an action follows.',
  }),
  global_request_id: nullableText.meta({ description: 'X-OpenStack-Request-ID that the client had sent with it.' }),
};

/** `GET /v1/nodes/{node}/flow`: the flow under way, or the last one, as operators watch it. */
export const Flow = z
  .strictObject({
    uuid,
    kind: z.string(),
    state: z.string(),
    started_at: time,
    ended_at: time.nullable(),
    error: nullableText,
    held: nullableText.meta({ description: 'Why no conductor works on it.' }),
    on_hold: nullableText.meta({ description: 'What it rests for until unhold.' }),
    abort_requested: nullableText.meta({
      description: 'Who requested the abort, while a step runs that must end first.',
    }),
    restarts: wholeNumber,
    ...ofRequest,
    advice: nullableText.meta({
      description: 'What to do next, for a flow that has failed, rests, or waits for too long.',
    }),
    boot: z
      .array(
        z.strictObject({
          event: z.enum(bootEvents),
          at: time,
          detail: nullableText.meta({
            description: 'Of dhcp the address, or why there is none; of script what it boots.',
          }),
          bytes: wholeNumber.nullable().meta({ description: 'How much of kernel or initrd the machine has taken.' }),
          conductor: z.string(),
        }),
      )
      .meta({ description: "What was seen of the machine's boots since the flow began, in order." }),
    steps: z.array(
      z.strictObject({
        uuid,
        position: wholeNumber,
        phase: z.string(),
        interface: z.string(),
        step: z.string(),
        priority: wholeNumber,
        origin: z.string(),
        plugin,
        reason: z.string().meta({ description: 'Why it stands there.' }),
        in_band: z.boolean(),
        state: z.string(),
        started_at: time.nullable(),
        ended_at: time.nullable(),
        waiting_for: nullableText,
        wait_until: time.nullable(),
        progress: z.unknown(),
        image_bytes: z
          .strictObject({ kept: wholeNumber, copied: wholeNumber, fetched: wholeNumber, neighbours: wholeNumber })
          .nullable()
          .meta({
            description:
              'Of a written image in chunks: what the disk held in place, elsewhere; what its server and neighbours sent.',
          }),
        note: nullableText.meta({
          description:
            'What came of it beside its success: a reboot in place of kexec, and why; versions of firmware; sensors; whose reset it needs.',
        }),
        error: nullableText,
        attempts: z
          .array(z.strictObject({ started_at: time, waits_since: time.nullable(), reason: nullableText }))
          .meta({ description: 'How often it was begun, each time with when it came to wait, and for what.' }),
        code: faultCode,
        subject,
        may_skip: z.boolean().meta({ description: 'POST …/flow/skip leaves it out.' }),
        usual_seconds: z.number().nullable().meta({
          description: 'Median of the last successful runs of such steps, on any node; null = none.',
        }),
      }),
    ),
  })
  .meta({ id: 'Flow' });
export type FlowView = Answer<typeof Flow>;
export type FlowStepView = FlowView['steps'][number];

/** Statuses of a flow, the worst first. */
export const flowStatuses = ['failed', 'retrying', 'slow', 'held', 'waiting', 'working'] as const;

/** `GET /v1/flows`: of each node the flow that counts now, and why it waits. */
export const FlowSummary = z
  .strictObject({
    uuid,
    kind: z.string(),
    state: z.string(),
    status: z.enum(flowStatuses).meta({
      description:
        'failed: the node rests in a failure state. retrying: a step met a fault and is run again. slow: it waits for ' +
        'longer than five minutes, or than half of its time. held: nothing is done until somebody acts.',
    }),
    node_uuid: uuid,
    node_name: nullableText,
    provision_state: z.string(),
    conductor: nullableText.meta({ description: 'Who works on the node, or would; null = nobody.' }),
    requested_by: nullableText,
    ...ofRequest,
    started_at: time,
    ended_at: time.nullable(),
    step: nullableText.meta({ description: 'The step that has failed, or is at work: deploy.write_image.' }),
    step_uuid: uuid.nullable(),
    may_skip: z.boolean().meta({ description: 'POST /v1/nodes/{node}/flow/skip leaves that step out.' }),
    since: time.meta({ description: 'When the step began; of a failure, when the flow ended.' }),
    until: time.nullable().meta({ description: 'When the step gives up.' }),
    reason: nullableText.meta({ description: 'Why it waits, is held, or has failed.' }),
    code: faultCode,
    subject,
    attempt: wholeNumber.meta({ description: 'How often the step was begun; 0 = not yet.' }),
    next_attempt_at: time.nullable().meta({ description: 'Of a flow that is retrying.' }),
    progress: z.unknown(),
  })
  .meta({ id: 'FlowSummary' });
export type FlowSummaryView = Answer<typeof FlowSummary>;

const seconds = z.number().nullable();
export const Plan = z
  .strictObject({
    node: uuid,
    kind: z.string(),
    hash: z.string().meta({ description: 'As plan_hash of a provision request, it refuses any other plan.' }),
    complete: z.boolean().meta({ description: "The agent's steps are known; else more may come." }),
    boot_mode: z.string(),
    reboots: wholeNumber,
    predicted_seconds: seconds,
    destroys: z.array(
      z.strictObject({
        name: z.string(),
        serial: nullableText,
        model: nullableText,
        size_bytes: wholeNumber.nullable(),
        contents: z.array(z.string()),
        by: z.array(z.string()),
      }),
    ),
    protects: z
      .array(z.strictObject({ entry: z.string(), devices: z.array(z.string()) }))
      .meta({ description: 'What each entry of properties.skip_block_devices protects, where steps destroy disks.' })
      .optional(),
    steps: z.array(
      z.strictObject({
        position: wholeNumber,
        interface: z.string(),
        step: z.string(),
        priority: wholeNumber,
        origin: z.string(),
        in_band: z.boolean(),
        args: z.unknown(),
        reboot_requested: z.boolean(),
        abortable: z.boolean(),
        plugin,
        reason: z.string(),
        predicted_seconds: seconds,
      }),
    ),
    switch_ports: z
      .array(
        z.strictObject({
          address: z.string(),
          switch_id: z.string(),
          port_id: z.string(),
          network: nullableText.meta({ description: 'null = isolated.' }),
          vlans: z.string(),
          found: nullableText.meta({ description: 'What it has now; null = the switch was not read.' }),
          commands: z
            .array(z.string())
            .meta({ description: "What makes the one of the other, in the switch's words." }),
          error: nullableText.meta({ description: 'Why the switch could not be read.' }),
        }),
      )
      .meta({ description: 'Where switch ports will be while the instance runs.' }),
    kept: z
      .strictObject({
        image: z.string(),
        bytes: wholeNumber,
        of_bytes: wholeNumber,
      })
      .optional()
      .meta({
        description: 'What the image has in common with the one that was written last: it may stay on the disk.',
      }),
    refused: z
      .strictObject({ code: z.string(), message: z.string() })
      .nullable()
      .meta({
        description: 'Refusal that the request itself would get now, in its words; null = it would be accepted.',
      })
      .optional(),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'Plan' });
export type PlanView = Answer<typeof Plan>;
