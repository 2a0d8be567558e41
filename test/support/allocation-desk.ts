import { eq } from 'drizzle-orm';
import { expect } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import type { ApiAnswer, TestApi } from '#test/support/test-api.ts';

type Json = Record<string, unknown>;

/** Nodes to be had, and asking for them. */
export interface AllocationDesk {
  /** An available node of class `big` with known power; answers its UUID. */
  addNode(name: string, more?: Json, traits?: readonly string[]): Promise<string>;
  inState(name: string, state: ProvisionState): Promise<void>;
  /** For a node of class `big`. */
  ask(more?: Json, version?: string): Promise<ApiAnswer>;
  show(ident: string): Promise<Json>;
  /** The allocation once the conductor has looked for its node. */
  outcome(asked: Promise<ApiAnswer>): Promise<Json>;
}

export function openAllocationDesk(api: TestApi): AllocationDesk {
  const show: AllocationDesk['show'] = async (ident) => (await api.call('GET', `/v1/allocations/${ident}`)).body;
  return {
    addNode: async (name, more = {}, traits = []) => {
      const body = { driver: 'fake-hardware', name, resource_class: 'big', ...more };
      const { uuid } = await api.call('POST', '/v1/nodes', body);
      await api.context.db.update(nodes).set({ provisionState: 'available', powerState: 'power off' });
      if (traits.length > 0) await api.call('PUT', `/v1/nodes/${name}/traits`, { traits });
      return uuid;
    },
    inState: (name, state) =>
      api.context.db.transaction(async (tx) => {
        const { uuid } = await getNode(tx, name);
        await tx.update(nodes).set({ provisionState: state, targetProvisionState: null }).where(eq(nodes.uuid, uuid));
      }),
    ask: (more = {}, version) => api.call('POST', '/v1/allocations', { resource_class: 'big', ...more }, version),
    show,
    outcome: async (asked) => {
      const { uuid, status, fault } = await asked;
      expect({ status, fault }).toEqual({ status: 201, fault: undefined });
      await api.context.allocator.idle();
      return show(uuid);
    },
  };
}
