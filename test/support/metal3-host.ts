import { systemClock } from '#shared/clock.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

type Json = Record<string, unknown>;
type Patch = readonly { readonly op: 'add' | 'remove'; readonly path: string; readonly value?: unknown }[];

/** Where a `BareMetalHost` is and how it is reached, as its provisioner gets it. */
export interface Metal3HostOptions {
  readonly name: string;
  readonly mac: string;
  /** `redfish-virtualmedia` and `idrac-virtualmedia` of its BMC addresses. */
  readonly access: 'redfish' | 'idrac';
  readonly driverInfo: Json;
}

interface Image {
  readonly deployInterface?: 'ramdisk' | 'custom-agent';
  readonly instanceInfo: Json;
  readonly driverInfo?: Json;
}

/** Tries at something that is busy. */
const mostTries = 100;

/** Interfaces that its BMC access names; empty names are not sent. */
const interfacesOf = {
  redfish: { boot_interface: 'redfish-virtual-media', firmware_interface: 'redfish', raid_interface: 'redfish' },
  idrac: {
    bios_interface: 'idrac-redfish',
    boot_interface: 'idrac-redfish-virtual-media',
    firmware_interface: 'redfish',
    management_interface: 'idrac-redfish',
    power_interface: 'idrac-redfish',
    raid_interface: 'idrac-redfish',
    vendor_interface: 'idrac-redfish',
  },
} as const;

/** Ironic as its provisioner talks to it, with one host in mind. */
function talkToIronic(url: string, name: string) {
  let version = '1.1';
  let uuid = '';
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { 'X-OpenStack-Ironic-API-Version': version, 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, text, body: (text === '' ? {} : JSON.parse(text)) as Json };
  };
  /** A 409 is "busy, try again later" everywhere. */
  const ask = async (method: string, path: string, body?: unknown): Promise<Json> => {
    for (let tries = 1; ; tries += 1) {
      const answer = await send(method, path, body);
      if (answer.status < 300) return answer.body;
      if (answer.status !== 409 || tries === mostTries) {
        throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
      }
      await systemClock.sleep(100);
    }
  };
  const node = (): Promise<Json> => ask('GET', `/v1/nodes/${uuid}`);
  const update = async (patch: Patch): Promise<Json> =>
    patch.length === 0 ? node() : ask('PATCH', `/v1/nodes/${uuid}`, patch);

  /** Never in maintenance: it is taken off first, and the change is asked for at the next look. */
  const change = async (target: string, more: Json = {}): Promise<void> => {
    const { maintenance } = await node();
    if (maintenance === true) await ask('DELETE', `/v1/nodes/${uuid}/maintenance`);
    await ask('PUT', `/v1/nodes/${uuid}/states/provision`, { target, ...more });
  };

  const settled = async (wanted: string): Promise<Json> => {
    const rested = await waitUntil(
      `host ${name} to be ${wanted}`,
      async () => {
        const found = await node();
        const state = String(found['provision_state']);
        return state === wanted || /failed$|^error$/.test(state) ? found : undefined;
      },
      { everyMs: 100 },
    );
    if (rested['provision_state'] === wanted) return rested;
    throw new Error(`host ${name} is ${JSON.stringify(rested)}, not ${wanted}`);
  };

  return {
    ask,
    send,
    node,
    update,
    change,
    settled,
    uuid: () => uuid,
    setUuid: (made: unknown) => void (uuid = String(made)),
    setVersion: (chosen: string) => void (version = chosen),
  };
}
type Ironic = ReturnType<typeof talkToIronic>;

/** Lists changes as its updater does: `add` also replaces; what is not wanted is removed where it is there. */
const changes = (before: Json, place: string, wanted: Json): Patch =>
  Object.entries(wanted).flatMap(([key, value]): Patch => {
    const old = (before[place] as Json | undefined)?.[key];
    const path = `/${place}/${key}`;
    if (value === null) return old === undefined ? [] : [{ op: 'remove', path }];
    return JSON.stringify(old) === JSON.stringify(value) ? [] : [{ op: 'add', path, value }];
  });

function untilManageable(ironic: Ironic, { name, mac, access, driverInfo }: Metal3HostOptions) {
  const { ask, send, update, change, settled, uuid } = ironic;
  return {
    /** `TryInit`: the version and whether a conductor is there. */
    init: async () => {
      const { version: found } = (await ask('GET', '/v1/')) as { version: { version: string } };
      const max = Number(found.version.split('.')[1]);
      const version = `1.${[109, 95, 93, 89].find((each) => each <= max) ?? 0}`;
      ironic.setVersion(version);
      return { version, drivers: ((await ask('GET', '/v1/drivers'))['drivers'] as unknown[]).length };
    },

    /** `Register`, until the host is manageable; then `configureNode`. */
    register: async (networkData?: Json, deployInterface?: Image['deployInterface']): Promise<Json> => {
      for (const ident of [`metal3~${name}`, name]) {
        const found = await send('GET', `/v1/nodes/${ident}`);
        if (found.status !== 404) throw new Error(`${ident}: ${found.text}`);
      }
      const { ports } = await ask('GET', `/v1/ports?address=${mac}&fields=node_uuid`);
      if ((ports as unknown[]).length > 0) throw new Error(`${mac} is taken`);
      const made = await ask('POST', '/v1/nodes', {
        name: `metal3~${name}`,
        driver: access,
        driver_info: driverInfo,
        ...interfacesOf[access],
        ...(deployInterface && { deploy_interface: deployInterface }),
        inspect_interface: 'agent',
        disable_power_off: false,
        properties: { capabilities: 'boot_mode:bios', cpu_arch: 'x86_64' },
      });
      ironic.setUuid(made['uuid']);
      await ask('POST', '/v1/ports', { node_uuid: uuid(), address: mac, pxe_enabled: true });
      if (networkData) await update([{ op: 'add', path: '/network_data', value: networkData }]);
      await change('manage');
      const manageable = await settled('manageable');
      return update([
        ...changes(manageable, 'driver_info', {
          deploy_iso: 'http://192.0.2.1/ipa.iso',
          deploy_kernel: null,
          deploy_ramdisk: null,
          kernel_append_params: null,
        }),
        { op: 'add', path: '/automated_clean', value: true },
      ]);
    },

    /** `InspectHardware`: a 404 starts it. */
    inspect: async () => {
      const before = await send('GET', `/v1/nodes/${uuid()}/inventory`);
      if (before.status !== 404) throw new Error(`inventory before inspection: ${before.status}`);
      await change('inspect');
      await settled('manageable');
      return ask('GET', `/v1/nodes/${uuid()}/inventory`);
    },

    /** `Prepare`. */
    prepare: async (steps: readonly Json[], raid?: Json): Promise<Json> => {
      if (raid) await ask('PUT', `/v1/nodes/${uuid()}/states/raid`, raid);
      await change('clean', { clean_steps: steps });
      return settled('manageable');
    },
  };
}

function inUse(ironic: Ironic, name: string) {
  const { ask, send, node, update, change, settled, uuid } = ironic;
  const uid = crypto.randomUUID();
  return {
    /** `Provision`, of a host that is manageable or available. */
    provision: async (image: Image, more: Json = {}): Promise<Json> => {
      if ((await node())['provision_state'] === 'manageable') await change('provide');
      const before = await settled('available');
      const kept = String(before['deploy_interface']);
      const wanted = image.deployInterface;
      await update([
        { op: 'add', path: '/instance_uuid', value: uid },
        ...changes(before, 'instance_info', { capabilities: {}, ...image.instanceInfo }),
        ...(wanted && wanted !== kept ? [{ op: 'add', path: '/deploy_interface', value: wanted } as const] : []),
        ...(!wanted && kept !== 'direct' ? [{ op: 'remove', path: '/deploy_interface' } as const] : []),
        ...changes(before, 'driver_info', { force_persistent_boot_device: 'Default', ...image.driverInfo }),
      ]);
      const valid = (await ask('GET', `/v1/nodes/${uuid()}/validate`)) as Record<'boot' | 'deploy', Json>;
      if (valid.boot['result'] !== true || valid.deploy['result'] !== true) {
        throw new Error(`host validation error: ${JSON.stringify(valid)}`);
      }
      await change('active', more);
      return settled('active');
    },

    /** `Service`. */
    service: async (steps: readonly Json[]): Promise<Json> => {
      await change('service', { service_steps: steps });
      return settled('active');
    },

    /** `Deprovision`. */
    deprovision: async (automatedClean: boolean): Promise<Json> => {
      if ((await node())['automated_clean'] !== automatedClean) {
        await update([{ op: 'add', path: '/automated_clean', value: automatedClean }]);
      }
      await change('deleted');
      return settled('available');
    },

    /** `PowerOff` and `PowerOn`: refused while a target state is set, so that is waited for. */
    power: async (target: string): Promise<Json> => {
      const soft = target === 'soft power off' ? { timeout: 180 } : {};
      await ask('PUT', `/v1/nodes/${uuid()}/states/power`, { target, ...soft });
      return waitUntil(
        `host ${name} after ${target}`,
        async () => {
          const found = await node();
          return found['target_power_state'] === null && found['reservation'] === null ? found : undefined;
        },
        { everyMs: 100 },
      );
    },

    /** `Delete`; the last look finds nothing. */
    delete: async (): Promise<number> => {
      const { provision_state: state, instance_uuid: instance, maintenance } = await node();
      if (state === 'available' || state === 'manageable') {
        if (instance) await update([{ op: 'remove', path: '/instance_uuid' }]);
      } else if (state !== 'enroll' && maintenance !== true) {
        await ask('PUT', `/v1/nodes/${uuid()}/maintenance`, { reason: 'forcing deletion in baremetal-operator' });
      }
      await ask('DELETE', `/v1/nodes/${uuid()}`);
      return (await send('GET', `/v1/nodes/${uuid()}`)).status;
    },
  };
}

/**
 * Asks Ironic as metal3's baremetal-operator does, in its own order (`pkg/provisioner/ironic`): each answer that it
 * reads is held against what it expects, and everything is tried again where it tries again.
 */
export function metal3Host(url: string, options: Metal3HostOptions) {
  const ironic = talkToIronic(url, options.name);
  return { ...ironic, ...untilManageable(ironic, options), ...inUse(ironic, options.name) };
}
