import type { CommandNode } from '#agent/context.ts';

/** One of the node's `capabilities`, `"boot_mode:uefi,disk_label:gpt"` as text or an object; the instance's go before the node's. */
export function readCapability(
  node: Pick<CommandNode, 'properties' | 'instance_info'>,
  name: string,
): string | undefined {
  for (const value of [node.instance_info['capabilities'], node.properties['capabilities']]) {
    const found = typeof value === 'string' ? fromText(value, name) : fromObject(value, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fromText(text: string, name: string): string | undefined {
  const pairs = text.split(',').map((pair) => pair.split(':').map((part) => part.trim()));
  return pairs.find(([key]) => key === name)?.[1];
}

function fromObject(value: unknown, name: string): string | undefined {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return typeof found === 'string' ? found : undefined;
}
