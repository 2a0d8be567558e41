import { escapeHtml, foreign, renderTime } from '#conductor/board/render-board.ts';
import { renderTable, type TableRow } from '#conductor/board/render-table.ts';
import { formatBytes } from '#conductor/cli/print.ts';

/** What an agent has found, in so far as it is shown; agents of others may leave any of it out. */
export interface ShownInventory {
  readonly system_vendor?: Record<'manufacturer' | 'product_name' | 'serial_number', string | null>;
  readonly cpu?: { readonly model_name?: string | null; readonly count?: number | null };
  readonly memory?: { readonly physical_mb?: number | null };
  readonly bmc_address?: string | null;
  readonly disks?: readonly {
    readonly name?: string | null;
    readonly model?: string | null;
    readonly serial?: string | null;
    readonly size?: number | null;
    readonly rotational?: boolean | null;
  }[];
  readonly interfaces?: readonly {
    readonly name?: string | null;
    readonly mac_address?: string | null;
    readonly ipv4_address?: string | null;
    readonly has_carrier?: boolean | null;
    readonly speed_mbps?: number | null;
  }[];
}

export interface ShownReceipt {
  readonly id: string;
  readonly signed_at: string;
  readonly disks_wiped: number;
  readonly disks_left_alone: number;
}

export interface Hardware {
  readonly inventory: ShownInventory | undefined;
  /** Newest first. */
  readonly receipts: readonly ShownReceipt[];
}

/** Hardware as it was last seen, and the wipes that are proved. Pure. */
export function renderHardware({ inventory, receipts }: Hardware): string {
  return `${inventory ? renderInventory(inventory) : ''}${renderReceipts(receipts)}`;
}

const text = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? foreign(String(value)) : '';

function renderInventory({
  system_vendor: system,
  cpu,
  memory,
  bmc_address: bmc,
  disks = [],
  interfaces = [],
}: ShownInventory): string {
  const megabytes = memory?.physical_mb;
  const facts = [
    [system?.manufacturer, system?.product_name].map(text).filter(Boolean).join(' '),
    system?.serial_number ? `serial ${text(system.serial_number)}` : '',
    cpu ? `${text(cpu.count)} × ${text(cpu.model_name)}` : '',
    typeof megabytes === 'number' ? `${Math.round(megabytes / 1024)} GiB of memory` : '',
    bmc ? `BMC at ${text(bmc)}` : '',
  ].filter((fact) => fact !== '');
  const diskRows = disks.map(({ name, model, serial, size, rotational }): TableRow => {
    const kind = typeof rotational === 'boolean' ? (rotational ? 'turns' : 'solid state') : '';
    return { cells: [text(name), text(model), text(serial), typeof size === 'number' ? formatBytes(size) : '', kind] };
  });
  const nicRows = interfaces.map(
    ({ name, mac_address: mac, ipv4_address: ip, has_carrier: link, speed_mbps: speed }): TableRow => {
      const state = link ? `● up${typeof speed === 'number' ? `, ${speed} Mbit/s` : ''}` : '○ down';
      return {
        status: link ? 'working' : 'idle',
        cells: [`<span class="status">${state}</span>`, text(name), text(mac), text(ip)],
      };
    },
  );
  const list = (title: string, columns: readonly string[], rows: readonly TableRow[]): string =>
    rows.length === 0 ? '' : `<h3>${title}</h3>${renderTable(columns, rows)}`;
  return `<h3>Hardware</h3><p>${facts.join(' · ') || 'no more is known than below'}</p>
    ${list('Disks', ['Disk', 'Model', 'Serial', 'Size', 'Kind'], diskRows)}
    ${list('Network', ['Link', 'Interface', 'MAC address', 'Address'], nicRows)}`;
}

function renderReceipts(receipts: readonly ShownReceipt[]): string {
  if (receipts.length === 0) return '';
  const rows = receipts.map(({ id, signed_at: at, disks_wiped: wiped, disks_left_alone: kept }): TableRow => {
    const link = `<a href="api/v1.0/receipts/${encodeURIComponent(id)}">${escapeHtml(id)}</a>`;
    return { cells: [link, renderTime(at, at.slice(0, 16).replace('T', ' ')), String(wiped), String(kept)] };
  });
  return `<h3>Receipts of wipes</h3>${renderTable(['Receipt', 'Signed', 'Disks wiped', 'Disks left alone'], rows)}`;
}
