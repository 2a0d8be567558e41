import { setTimeout as sleep } from 'node:timers/promises';
import { bindingDifferences, isUp } from '#conductor/networks/neutron/binding.ts';
import type { NeutronClient, NeutronNetwork, NeutronPort } from '#conductor/networks/neutron/neutron-client.ts';
import { deviceOwner, type PortChange, type WantedPort } from '#conductor/networks/neutron/plan-bindings.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/** One change of a port at Neutron; each is safe to repeat. */

/** Answers the port's id. */
export async function bind(
  client: NeutronClient,
  nodeUuid: string,
  { wanted, found }: Extract<PortChange, { readonly kind: 'bind' }>,
  signal: AbortSignal | undefined,
): Promise<string> {
  const { of, address, body } = wanted;
  if (found && bindingDifferences(found, wanted).length === 0) return found.id;
  // a bound port keeps its address, and is bound again only after that
  if (found) await client.updatePort(found.id, { 'binding:host_id': '', 'binding:profile': {} }, signal);
  if ('vif' in of) {
    await client.updatePort(of.vif, { ...body, mac_address: address }, signal);
    return of.vif;
  }
  const { id } = found ?? (await createOwn(client, nodeUuid, { network: of.network, name: of.name, address }, signal));
  await client.updatePort(id, body, signal);
  return id;
}

async function createOwn(
  client: NeutronClient,
  nodeUuid: string,
  { network, name, address }: { readonly network: NeutronNetwork; readonly name: string; readonly address: string },
  signal: AbortSignal | undefined,
): Promise<NeutronPort> {
  const create = (): Promise<NeutronPort> =>
    client.createPort(
      {
        network_id: network.id,
        mac_address: address,
        name,
        device_id: nodeUuid,
        device_owner: deviceOwner,
        admin_state_up: true,
        'binding:vnic_type': 'baremetal',
      },
      signal,
    );
  try {
    return await create();
  } catch (error) {
    // a VIF that was unbound, by a conductor that was lost before it gave the address back
    const held = await client.listPorts({ network_id: network.id, mac_address: address }, signal);
    const unbound = held.filter((port) => port['binding:host_id'] === '' && port['binding:vif_type'] === 'unbound');
    if (errorCode(error) !== 'switch_error' || unbound.length === 0) throw error;
    for (const { id } of unbound) await client.updatePort(id, { mac_address: null }, signal);
    return create();
  }
}

/** Its address is the machine's while it is bound; Neutron makes another. */
export async function unbind(
  client: NeutronClient,
  { id }: NeutronPort,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const change of [{ 'binding:host_id': '', 'binding:profile': {} }, { mac_address: null }]) {
    try {
      await client.updatePort(id, change, signal);
    } catch (error) {
      // its owner has deleted it
      if (errorCode(error) !== 'not_found') throw error;
    }
  }
}

export async function waitUntilActive(
  client: NeutronClient,
  { ports, body }: WantedPort,
  id: string,
  { pollMs, waitMs }: { readonly pollMs: number; readonly waitMs: number },
  signal: AbortSignal | undefined,
): Promise<void> {
  const what = `port ${id} of Neutron to ${ports.map(({ address }) => address).join(', ')} at ${JSON.stringify(body['binding:profile'].local_link_information)}`;
  const deadline = Date.now() + waitMs;
  for (;;) {
    const port = await client.getPort(id, signal);
    if (port['binding:vif_type'] === 'binding_failed') {
      throw new AppError(
        'switch_error',
        `Neutron failed to bind ${what}: its log says why; compare switch_id and port_id`,
      );
    }
    if (isUp(port, body)) return;
    if (Date.now() > deadline) {
      throw new AppError('timeout', `bind ${what}: it is ${port.status} after ${waitMs / 1000} s, not ACTIVE`);
    }
    await sleep(pollMs, undefined, { signal }).catch((cause: unknown) => {
      throw new AppError('aborted', `bind ${what}: stopped`, { cause });
    });
  }
}
