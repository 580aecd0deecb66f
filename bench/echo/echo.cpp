// What comes on stdin, back on stdout: no JSON, no frames.
#include <iostream>
#include <string>

int main() {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) std::cout << line << std::endl;
}
