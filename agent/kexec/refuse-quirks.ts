import { readSystemVendor } from '#agent/hardware/inventory-system.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Machines that don't come up by kexec, or not whole, until they have been off, as their users report. */
const quirks: readonly { readonly maker: RegExp; readonly product: RegExp; readonly what: string }[] = [
  { maker: /^(HP|Hewlett)/i, product: /EliteDesk/i, what: 'its PCI bridges fail' },
  { maker: /^(HP|Hewlett)/i, product: /\bZ2\b.*\bG4\b/i, what: 'its network card finds no link' },
  { maker: /VMware/i, product: /ARM|VBSA/i, what: 'its devices fail' },
  { maker: /Raspberry Pi/i, product: /./, what: 'its firmware has to start it' },
];

/** @throws AppError `not_supported` on such a machine @param sysRoot differs only in tests */
export async function refuseQuirks(sysRoot: string): Promise<void> {
  const { manufacturer, product_name: name } = await readSystemVendor({ sys: sysRoot });
  const quirk = quirks.find(({ maker, product }) => maker.test(manufacturer) && product.test(name));
  if (!quirk) return;
  throw new AppError('not_supported', `${manufacturer} ${name} does not come up whole by kexec: ${quirk.what}`);
}
