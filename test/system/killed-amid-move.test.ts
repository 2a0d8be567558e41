import { startEosApi } from '#test/simulators/switch/eos.ts';
import { testKilledMoves } from '#test/system/killed-amid-move.contract.ts';

testKilledMoves('a session of EOS over HTTPS', {
  driver: 'eos',
  portId: 'Ethernet1',
  start: () => startEosApi({ ports: ['Ethernet1'], vlans: [1] }),
  isTransaction: true,
  every: 3,
});
