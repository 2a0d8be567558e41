import { startAosCxApi } from '#test/simulators/switch/aos-cx-api.ts';
import { startEosApi, startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startJunosNetconf, startJunosSwitch } from '#test/simulators/switch/junos.ts';
import { startNvueSwitch } from '#test/simulators/switch/nvue-api.ts';
import { startOpenconfigSwitch } from '#test/simulators/switch/openconfig.ts';
import { freshCumulus, freshLinux, freshSonic, startProgramSwitch } from '#test/simulators/switch/program-switch.ts';
import { startNxApi, startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { testKilledMoves } from '#test/system/killed-amid-move.contract.ts';

/** By transport, and by whether the switch has transactions. */

const eos = { driver: 'eos', portId: 'Ethernet1', isTransaction: true };
const eosPorts = { ports: ['Ethernet1'], vlans: [1] };
testKilledMoves('a session of EOS over SSH', { ...eos, start: () => startEosSwitch(eosPorts) });
testKilledMoves('a session of EOS over HTTPS', { ...eos, start: () => startEosApi(eosPorts) });

const systemOf = (name: string) => {
  const system = textSystems.find((each) => each.name === name);
  if (!system) throw new Error(`no ${name}`);
  return { system, row: { driver: name, portId: system.port(1), isTransaction: false } };
};
const nxos = systemOf('nxos');
testKilledMoves('lines of NX-OS over SSH', { ...nxos.row, start: () => startTextSwitch(nxos.system) });
testKilledMoves('requests of NX-OS over HTTPS', { ...nxos.row, start: () => startNxApi(nxos.system) });
const aosCx = systemOf('aos-cx');
testKilledMoves('lines of AOS-CX over SSH', {
  ...aosCx.row,
  isShutMeanwhile: true,
  start: () => startTextSwitch(aosCx.system),
});
testKilledMoves('requests of AOS-CX over HTTPS', {
  ...aosCx.row,
  start: async () => {
    const simulated = await startAosCxApi([aosCx.row.portId]);
    // each conductor leaves a session, which the switch ends when it has been idle for twenty minutes
    simulated.state.mostSessions = 100;
    return simulated;
  },
});
const os10 = systemOf('os10');
testKilledMoves('lines of OS10 over SSH', {
  ...os10.row,
  isShutMeanwhile: true,
  start: () => startTextSwitch(os10.system),
});
const iosXe = systemOf('ios-xe');
testKilledMoves('lines of IOS-XE over SSH', { ...iosXe.row, start: () => startTextSwitch(iosXe.system) });

const cumulus = { driver: 'cumulus', portId: 'swp1', isTransaction: true };
const freshPort = freshCumulus(['swp1']);
testKilledMoves('a revision of Cumulus over HTTPS', { ...cumulus, start: () => startNvueSwitch(freshPort) });
testKilledMoves('a revision of Cumulus over SSH', { ...cumulus, start: () => startProgramSwitch(freshPort) });

const junos = { driver: 'junos', portId: 'ge-0/0/0', isTransaction: true };
testKilledMoves('a commit of Junos over NETCONF', { ...junos, start: () => startJunosNetconf([junos.portId]) });
testKilledMoves('a commit of Junos over SSH', { ...junos, start: () => startJunosSwitch([junos.portId]) });

testKilledMoves('a commit of OpenConfig over NETCONF', {
  driver: 'openconfig',
  portId: 'Ethernet1',
  start: () => startOpenconfigSwitch(['Ethernet1']),
  isTransaction: true,
});

testKilledMoves('commands of Linux over SSH', {
  driver: 'linux',
  portId: 'swp1',
  start: () => startProgramSwitch(freshLinux(['swp1'])),
  isTransaction: false,
});
testKilledMoves('commands of SONiC over SSH', {
  driver: 'sonic',
  portId: 'Ethernet0',
  start: () => startProgramSwitch(freshSonic(['Ethernet0'])),
  isTransaction: false,
});
