import { randomUUID } from 'node:crypto';
import { silentLog } from '#shared/log.ts';
import type { GuideStage, StagedConductor } from '#test/guides/guide-stage.ts';
import { startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { startOpenVswitch } from '#test/support/open-vswitch.ts';
import { createOperator } from '#test/support/operator.ts';
import { makeTestDatabase } from '#test/support/test-database.ts';

/** How the commands of a section come to have what they speak of. */
type SetStage = (stage: GuideStage) => Promise<unknown>;

const conductorAlone: SetStage = (stage) => stage.conductor();

const createFakeNode = ({ operator }: StagedConductor, name: string, more: object = {}) =>
  operator.call('POST', '/v1/nodes', { name, driver: 'fake-hardware', ...more });

/** Starts a conductor that asks for tokens, with an administrator's in a file. */
async function conductorWithToken(stage: GuideStage): Promise<{ readonly token: string; readonly file: string }> {
  const conductor = await stage.conductor({ BATON_AUTH: 'token' });
  const { token } = await conductor.context().auth.tokens.create({ name: 'guide', role: 'admin' });
  return { token, file: await stage.file('admin-token', token) };
}

const logins: SetStage = async (stage) => {
  const { file } = await conductorWithToken(stage);
  stage.replacements.set('/var/lib/baton/admin-token', file);
};

const curl: SetStage = async (stage) => {
  const { token } = await conductorWithToken(stage);
  stage.environment['TOKEN'] = token;
};

const dump: SetStage = async (stage) => {
  const { url, drop } = await makeTestDatabase();
  stage.atEnd(drop);
  stage.environment['DATABASE_URL'] = url;
  stage.replacements.set('/backup/', `${stage.directory}/`);
};

const enrol: SetStage = async (stage) => {
  const { token, file } = await conductorWithToken(stage);
  const mac = '52:54:00:12:34:56';
  const machine = await stage.machine({ mac, inspects: true, bmcPassword: token.slice(0, 8) });
  await stage.file('password', token.slice(0, 8));
  stage.replacements
    .set('http://192.0.2.1:6385', stage.environment['BATON_URL'] ?? '')
    .set('/var/lib/baton/admin-token', file)
    .set('https://192.0.2.9', machine.bmc.address);
};

const discovered: SetStage = async (stage) => {
  const { uuid } = await createFakeNode(await stage.conductor(), 'unnamed');
  await stage.file('password', 'secret');
  stage.replacements.set(' NODE ', ` ${String(uuid)} `);
};

const raid: SetStage = async (stage) => {
  const { operator } = await stage.conductor();
  const cleanSteps = [{ step: 'create_configuration' }];
  const machine = await stage.machine({ mac: '52:54:00:00:39:01', cleanSteps });
  await enrolSimulatedNode(operator, machine, 'n1');
  await operator.provision('n1', 'manage');
  await operator.waitForState('n1', 'manageable');
  await stage.file('raid.json', '{"logical_disks": [{"size_gb": "MAX", "raid_level": "1", "controller": "software"}]}');
  await stage.file('raid-steps.json', '[{"interface": "raid", "step": "create_configuration"}]');
};

/** Chassis id of the switch that the guide's networks file has. */
const switchId = '00:11:22:33:44:55';

const networks: SetStage = async (stage) => {
  const real = await startOpenVswitch(`ovs-g${process.pid}`);
  stage.atEnd(() => real.stop());
  for (const port of ['tap-n1', 'tap-n2']) {
    await real.vsctl('add-port', 'br0', port, '--', 'set', 'interface', port, 'type=internal');
  }
  const file = await stage.file(
    'networks.json',
    JSON.stringify({
      switches: [{ switch_id: switchId, driver: 'ovs', endpoint: real.endpoint }],
      networks: {
        provisioning: { vlan: 100 },
        tenant: { vlan: 200 },
        blue: { vlan: 201 },
        storage: { vlan: 400 },
      },
      defaults: { provisioning: 'provisioning', cleaning: 'provisioning', tenant: 'tenant' },
    }),
  );
  const conductor = await stage.conductor({ BATON_NETWORKS_FILE: file });
  const { uuid } = await createFakeNode(conductor, 'n1', { network_interface: 'switchport' });
  const second = await conductor.operator.call('POST', '/v1/ports', {
    node_uuid: uuid,
    address: '52:54:00:12:34:57',
    local_link_connection: { switch_id: switchId, port_id: 'tap-n2' },
  });
  const client = { OS_AUTH_TYPE: 'none', OS_ENDPOINT: stage.environment['BATON_URL'] ?? '' };
  Object.assign(stage.environment, client);
  stage.replacements.set('5b1f…', String(second['uuid']));
};

const virtualMedia: SetStage = async (stage) => {
  const conductor = await stage.conductor({ BATON_BOOT_URL: 'http://192.0.2.1:6385' });
  await conductor.operator.call('POST', '/v1/nodes', {
    name: 'n1',
    driver: 'redfish',
    driver_info: { redfish_address: 'https://192.0.2.9' },
  });
};

const receipts: SetStage = async (stage) => {
  const { operator } = await stage.conductor();
  const machine = await stage.machine({ mac: '52:54:00:00:39:02' });
  await enrolSimulatedNode(operator, machine, 'n1', { instance_info: demoInstance });
  await operator.provision('n1', 'active');
  await operator.waitForState('n1', 'active');
  await operator.provision('n1', 'deleted', { wipe: {} });
  await operator.waitForState('n1', 'available');
  const answer = (await operator.call('GET', '/api/v1.0/receipts')) as { receipts: { id: string }[] };
  stage.replacements.set(' ID ', ` ${answer.receipts[0]?.id ?? randomUUID()} `);
};

/** Starts another conductor in Ironic's place, with a node whose password its API masks. */
const besideIronic: SetStage = async (stage) => {
  const ironic = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_CONDUCTOR_NAME: 'ironic' },
  });
  stage.atEnd(() => ironic.close());
  const machine = await stage.machine({ mac: '52:54:00:00:39:03' });
  await enrolSimulatedNode(createOperator(ironic.url), machine, 'n1');
  await stage.file('bmc-passwords.yaml', 'n1: {redfish_password: simulated}\n');
  await stage.conductor();
  stage.replacements.set('http://192.0.2.5:6385', ironic.url);
};

const besideMetal3: SetStage = async (stage) => {
  await stage.conductor();
  const machine = await stage.machine({ mac: '52:54:00:12:34:56' });
  // as for a BMC whose certificate nobody trusts: it has none
  stage.replacements.set('redfish+https://192.0.2.9', machine.bmc.address.replace(/^(https?):/, 'redfish+$1:'));
};

const hostsOnly: SetStage = async (stage) => {
  await stage.conductor();
  await stage.file('hosts.yaml', 'kind: BareMetalHost\nmetadata: {name: worker-0}\n');
};

const machinesOnly: SetStage = async (stage) => {
  await stage.conductor();
  await stage.file('machines.json', '[{"system_id": "abc123", "hostname": "n1"}]');
};

const hardwareOnly: SetStage = async (stage) => {
  await stage.conductor();
  await stage.file('hardware.yaml', 'kind: Hardware\nmetadata: {name: n1}\n');
};

const sdk: SetStage = async (stage) => {
  await createFakeNode(await stage.conductor(), 'n1');
  stage.replacements
    .set('http://192.0.2.1:6385', stage.environment['BATON_URL'] ?? '')
    .set('python3 nodes.py', '/usr/bin/python3 nodes.py'); // another Python in PATH has no openstacksdk
};

/** THE table of the sections whose commands `test/system/guides.test.ts` runs. */
export const guideStages: Readonly<Record<string, SetStage>> = {
  'docs/access.md: Logins': logins,
  'docs/api.md': curl,
  'docs/backup.md': dump,
  'docs/coming-from-ironic.md: Bring the nodes over': besideIronic,
  'docs/coming-from-ironic.md: The way back': besideIronic,
  'docs/coming-from-ironic.md: Ansible and openstacksdk': sdk,
  'docs/coming-from-maas.md: Bring the machines over': conductorAlone,
  'docs/coming-from-maas.md: The way back': machinesOnly,
  'docs/coming-from-tinkerbell.md: Bring the hardware over': conductorAlone,
  'docs/coming-from-tinkerbell.md: The way back': hardwareOnly,
  'docs/coming-from-metal3.md: Bring the hosts over': besideMetal3,
  'docs/coming-from-metal3.md: The way back': hostsOnly,
  'docs/first-rack.md: Enrol': enrol,
  'docs/first-rack.md: Machines that enrol themselves': discovered,
  'docs/first-rack.md: Without hardware': conductorAlone,
  'docs/hardware.md: Software RAID': raid,
  'docs/networks.md: The networks file': networks,
  'docs/networks.md: Without DHCP: virtual media': virtualMedia,
  'docs/sites.md: A first site': conductorAlone,
  'docs/teardown.md: Receipts': receipts,
};
