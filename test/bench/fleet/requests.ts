import { type LoadRequest, load } from '#test/bench/api/load.ts';
import type { FleetScene } from '#test/bench/fleet/scene.ts';

/** Requests under way at once at each conductor. */
export const connections = 16;

export function post(path: string, body: unknown): LoadRequest {
  return { method: 'POST', path, body: JSON.stringify(body) };
}

/** Shared out to all conductors. */
export async function askAll({ conductors }: FleetScene, requests: readonly LoadRequest[]): Promise<void> {
  const parts = shares(requests, conductors.length);
  await Promise.all(
    conductors.map(({ url }, place) => load({ url, connections, next: (index) => parts[place]?.[index] })),
  );
}

export function shares<T>(all: readonly T[], count: number): T[][] {
  return Array.from({ length: count }, (_, place) => all.filter((_each, index) => index % count === place));
}
