/** Runs before each file of the integration suite (vitest's setupFiles). */
import { holdFetches } from './conformance.ts';

holdFetches();
