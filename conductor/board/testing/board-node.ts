import type { BoardNode } from '#conductor/board/render/render-board.ts';

/** A node as the board lists it: at rest, in no rack, with nothing wrong. */
export const boardNode = (changes: Partial<BoardNode> = {}): BoardNode => ({
  uuid: 'u9',
  name: 'n9',
  provision_state: 'active',
  power_state: 'power on',
  health: null,
  maintenance: false,
  maintenance_reason: null,
  fault: null,
  last_error: null,
  resource_class: null,
  driver: 'fake-hardware',
  conductor_group: '',
  owner: null,
  rack: null,
  rack_unit: null,
  image: null,
  traits: [],
  attestation: null,
  ...changes,
});
