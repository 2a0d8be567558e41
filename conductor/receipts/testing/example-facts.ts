import type { ReceiptFacts } from '#conductor/receipts/compose-receipt.ts';
import type { EraseResult } from '#shared/wire/erase-result.ts';

type ErasedDisk = EraseResult['erased'][number];

/** A disk as the agent reports it, wiped and proved. */
export function erasedDisk(serial: string, more: Partial<ErasedDisk> = {}): ErasedDisk {
  return {
    device: '/dev/sda',
    serial,
    wwn: `0x5000c500${serial}`,
    model: 'ST4000',
    method: 'ata security erase',
    bytes: 4_000_787_030_016,
    seconds: 26.4,
    proof: { canaries: 66, samples: 64, reads: 'zeros' },
    ...more,
  };
}

export function receiptFacts(more: Partial<ReceiptFacts> = {}): ReceiptFacts {
  return {
    id: 'a7a1f3a2-0c8e-4c8e-9d26-0d6a7d1f0c11',
    conductor: { name: 'control-a' },
    agent: { version: '1.4.0', hardware_managers: { GenericHardwareManager: '1.2' } },
    node: {
      uuid: '5f0a4f0e-6d0f-4a4d-8f6b-1f2a3b4c5d6e',
      name: 'n1',
      vendor: 'Dell Inc.',
      model: 'PowerEdge R650',
      serial_number: 'CN7475',
      macs: ['52:54:00:00:00:01'],
      inventory_at: '2026-11-20T08:00:00.000Z',
    },
    preserveLocalStorage: false,
    result: { erased: [erasedDisk('ZC1'), erasedDisk('ZC2', { device: '/dev/sdb' })], skipped: [] },
    inventoried: [],
    switch_ports: [
      {
        mac: '52:54:00:00:00:01',
        switch_id: '02:00:00:00:00:01',
        port_id: 'Ethernet1/7',
        switch_info: 'leaf1',
        state: 'isolated',
        network: null,
        vlan: null,
        read_back_at: '2026-11-21T22:41:00.000Z',
      },
    ],
    times: {
      started: new Date('2026-11-21T22:00:00Z'),
      wiped: new Date('2026-11-21T22:40:00Z'),
      signed: new Date('2026-11-21T22:41:01Z'),
    },
    flows: { teardown: '0b0e7f8e-3f0e-4b59-9f3e-8d8b8f3c1a01', wipe: '0b0e7f8e-3f0e-4b59-9f3e-8d8b8f3c1a02' },
    site_action: '01JD8Z6V5W3R7N9K2M4P6Q8S0T',
    requested_by: 'ops',
    attestation: null,
    tpm_quote: null,
    tpm_quote_problem: null,
    ...more,
  };
}
