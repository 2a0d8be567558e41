import { Fault, Status } from '#conductor/http/fault-schemas.ts';
import { Flow, Plan } from '#conductor/http/flow-schemas.ts';
import { Allocation, Chassis, Node, Port, Portgroup, States } from '#conductor/http/resource-schemas.ts';

/**
 * What the API answers, for its description (`api-document.ts`). Answers are put together field by field, as the
 * microversion and `fields` have it, and are not parsed by these: a test holds them against real answers instead.
 */

/** The parts of answers that have a name in the description. */
export const answerSchemas = { Node, States, Port, Portgroup, Chassis, Allocation, Flow, Plan, Fault, Status } as const;
export type AnswerName = keyof typeof answerSchemas;

/** `GET /v1/nodes` → one of these objects, or a page of them under that key. */
export const answersByOperation: Readonly<
  Record<string, AnswerName | { readonly key: string; readonly of: AnswerName }>
> = {
  'GET /v1/nodes': { key: 'nodes', of: 'Node' },
  'GET /v1/nodes/detail': { key: 'nodes', of: 'Node' },
  'POST /v1/nodes': 'Node',
  'GET /v1/nodes/{node}': 'Node',
  'PATCH /v1/nodes/{node}': 'Node',
  'GET /v1/nodes/{node}/states': 'States',
  'GET /v1/nodes/{node}/flow': 'Flow',
  'POST /v1/nodes/{node}/plan': 'Plan',
  'GET /v1/nodes/{node}/ports': { key: 'ports', of: 'Port' },
  'GET /v1/nodes/{node}/portgroups': { key: 'portgroups', of: 'Portgroup' },
  'GET /v1/nodes/{node}/allocation': 'Allocation',
  'GET /v1/ports': { key: 'ports', of: 'Port' },
  'GET /v1/ports/detail': { key: 'ports', of: 'Port' },
  'POST /v1/ports': 'Port',
  'GET /v1/ports/{port}': 'Port',
  'PATCH /v1/ports/{port}': 'Port',
  'GET /v1/portgroups': { key: 'portgroups', of: 'Portgroup' },
  'GET /v1/portgroups/detail': { key: 'portgroups', of: 'Portgroup' },
  'POST /v1/portgroups': 'Portgroup',
  'GET /v1/portgroups/{portgroup}': 'Portgroup',
  'PATCH /v1/portgroups/{portgroup}': 'Portgroup',
  'GET /v1/portgroups/{portgroup}/ports': { key: 'ports', of: 'Port' },
  'GET /v1/chassis': { key: 'chassis', of: 'Chassis' },
  'GET /v1/chassis/detail': { key: 'chassis', of: 'Chassis' },
  'POST /v1/chassis': 'Chassis',
  'GET /v1/chassis/{chassis}': 'Chassis',
  'PATCH /v1/chassis/{chassis}': 'Chassis',
  'GET /v1/chassis/{chassis}/nodes': { key: 'nodes', of: 'Node' },
  'GET /v1/chassis/{chassis}/nodes/detail': { key: 'nodes', of: 'Node' },
  'POST /api/v1.0/configdocs/{collection}': 'Status',
  'POST /api/v1.0/commitconfigdocs': 'Status',
  'GET /v1/allocations': { key: 'allocations', of: 'Allocation' },
  'GET /v1/allocations/{allocation}': 'Allocation',
  'PATCH /v1/allocations/{allocation}': 'Allocation',
};
