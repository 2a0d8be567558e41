/** THE table of events that webhooks are told, with what stands in `data`. */
export const webhookEvents = {
  'node.provision_state': 'The node has moved: `from`, `to`, `target`, `last_error`, `event` as in the history.',
  'node.power_state':
    'Power was asked for, has changed or was found changed: `power_state`, `target_power_state`, `event`.',
  'node.maintenance': 'Maintenance began or ended: `maintenance`, `reason`, `fault`.',
  'node.flow_started': 'A flow has begun: `flow`, `kind`.',
  'node.flow_succeeded': 'A flow has ended well: `flow`, `kind`, `seconds`.',
  'node.flow_failed': 'A flow has ended in failure, or was aborted: `flow`, `kind`, `state`, `seconds`, `error`.',
  'node.step_failed': 'A step has failed: `flow`, `kind`, `step`, `error`.',
  'allocation.state':
    'An allocation has become active, has failed or was deleted (`deleted`): `allocation` (`uuid`, `name`), `state`, `last_error`, `node_uuid`.',
  'site.action':
    'A site action has been made or has ended: `action` (`id`, `name`), `state` of its flow (`running`, `succeeded`, `failed`, `aborted`), `error`, `user`, `revision`; only to webhooks without a project.',
} as const;

export type WebhookEventType = keyof typeof webhookEvents;
const webhookEventTypes = Object.keys(webhookEvents) as WebhookEventType[];

/** What one is told, beyond which node it is about. */
export interface WebhookEvent {
  readonly type: WebhookEventType;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Types and their beginnings, which stand for all of them. */
export const webhookEventFilters: readonly string[] = [
  ...new Set(webhookEventTypes.map((type) => type.slice(0, type.indexOf('.')))),
  ...webhookEventTypes,
];
