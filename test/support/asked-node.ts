import { eq } from 'drizzle-orm';
import { type NodeInsert, nodes } from '#conductor/kernel/db/schema/node.ts';
import type { ApiAnswer, TestApi } from '#test/support/test-api.ts';

/** Node `n1`, of fake hardware that an agent would deploy, and what its provision state is asked for. */
export interface AskedNode {
  readonly uuid: string;
  /** Past everything that would refuse it. */
  set(change: Partial<NodeInsert>): Promise<void>;
  ask(target: string, more?: object): Promise<ApiAnswer>;
  state(): Promise<unknown>;
}

export async function addAskedNode(api: TestApi): Promise<AskedNode> {
  const { uuid } = await api.call('POST', '/v1/nodes', {
    driver: 'fake-hardware',
    deploy_interface: 'direct',
    name: 'n1',
    properties: { capabilities: 'boot_mode:bios' },
  });
  await api.call('POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:01' });
  return {
    uuid,
    set: async (change) => {
      await api.context.db.update(nodes).set(change).where(eq(nodes.uuid, uuid));
    },
    ask: (target, more = {}) => api.call('PUT', '/v1/nodes/n1/states/provision', { target, ...more }, 'latest'),
    state: async () => (await api.call('GET', '/v1/nodes/n1')).body['provision_state'],
  };
}
