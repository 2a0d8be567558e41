import { startEosApi, startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startJunosNetconf } from '#test/simulators/switch/junos.ts';
import { startNvueSwitch } from '#test/simulators/switch/nvue-api.ts';
import { freshCumulus } from '#test/simulators/switch/program-switch.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { testKilledMoves } from '#test/system/killed-amid-move.contract.ts';

/** By transport, and by whether the switch has transactions. */

const eos = { driver: 'eos', portId: 'Ethernet1', isTransaction: true };
const eosPorts = { ports: ['Ethernet1'], vlans: [1] };
testKilledMoves('a session of EOS over SSH', { ...eos, start: () => startEosSwitch(eosPorts) });
testKilledMoves('a session of EOS over HTTPS', { ...eos, start: () => startEosApi(eosPorts) });

const nxos = textSystems.find(({ name }) => name === 'nxos');
if (!nxos) throw new Error('no nxos');
testKilledMoves('lines of NX-OS over SSH', {
  driver: 'nxos',
  portId: nxos.port(1),
  start: () => startTextSwitch(nxos),
  isTransaction: false,
});

testKilledMoves('a revision of Cumulus over HTTPS', {
  driver: 'cumulus',
  portId: 'swp1',
  start: () => startNvueSwitch(freshCumulus(['swp1'])),
  isTransaction: true,
});

testKilledMoves('a commit of Junos over NETCONF', {
  driver: 'junos',
  portId: 'ge-0/0/0',
  start: () => startJunosNetconf(['ge-0/0/0']),
  isTransaction: true,
});
