import { QueryClient } from "@tanstack/react-query";

import { ApiError } from "../api/errors";
import { hashWithMoment } from "../time/moment";

/** What was read from the service. Live changes and writes say what of it is old. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      queryKeyHashFn: hashWithMoment,
      refetchOnWindowFocus: false,
      // What the service refuses it will refuse again; only no answer and 503 are worth another try.
      retry: (count, error) =>
        count < 2 && error instanceof ApiError && (error.status === 0 || error.status === 503),
      retryDelay: (count) => 300 * 2 ** count,
    },
  },
});
