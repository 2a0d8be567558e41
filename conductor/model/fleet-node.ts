/** Fields of a node that everyone who follows the fleet has of it: lists of `GET /v1/nodes` name them, events bring them. */
export const fleetNodeFields = [
  'uuid',
  'name',
  'provision_state',
  'power_state',
  'health',
  'maintenance',
  'maintenance_reason',
  'fault',
  'last_error',
  'resource_class',
  'driver',
  'conductor_group',
  'rack',
  'rack_unit',
  'image',
  'traits',
  'owner',
  'attestation',
] as const;
export type FleetNodeField = (typeof fleetNodeFields)[number];
